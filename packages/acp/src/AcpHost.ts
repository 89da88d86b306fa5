/** What an agent of editors needs of the program that it is part of. */
import type { McpServer } from "@agentclientprotocol/sdk/unstable"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type * as Effect from "effect/Effect"

/** The program. */
export interface AcpHost {
  readonly version: string
  /** What the client sends, and what it is sent: a frame a line. */
  readonly input: ReadableStream<Uint8Array>
  readonly output: WritableStream<Uint8Array>
  /** The mode of new sessions; `auto` can be chosen only if it is this one. */
  readonly mode: Mode | undefined
  /** The agent and the model of new sessions; by default those of the project. */
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  /** Fails if a directory cannot be worked in. */
  readonly checkDirectory: (directory: string) => Effect.Effect<void, { readonly message: string }>
  /** Lets the agents in a directory use these MCP servers, as long as the connection lasts; gives what is to be said. */
  readonly useServers: (
    directory: string,
    servers: ReadonlyArray<McpServer>
  ) => Effect.Effect<ReadonlyArray<string>>
}
