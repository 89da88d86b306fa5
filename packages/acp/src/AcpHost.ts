/** What an agent of editors needs of the program that it is part of. */
import type { McpServer } from "@agentclientprotocol/sdk/unstable"
import type { SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Why a client did not do what it was asked for a file. */
export interface ClientFileFailure {
  readonly _tag: "EditorFailure"
  /** It refused or does not know the file, it did not answer in time, or it is gone. */
  readonly reason: "refused" | "silent" | "gone"
  readonly message: string
}

/** The files of a session as its client has them, saved or not. Paths are absolute. */
export interface ClientFiles {
  /** The directory of the session. */
  readonly directory: string
  readonly read: (path: string) => Effect.Effect<string, ClientFileFailure>
  /** Absent if the client cannot write. */
  readonly write: ((path: string, text: string) => Effect.Effect<void, ClientFileFailure>) | undefined
}

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
  /** Whether two absolute paths lead to the same directory. */
  readonly isSameDirectory: (one: string, other: string) => Effect.Effect<boolean>
  /** Lets the agents in a directory use these MCP servers, as long as the connection lasts; gives what is to be said. */
  readonly useServers: (
    directory: string,
    servers: ReadonlyArray<McpServer>
  ) => Effect.Effect<ReadonlyArray<string>>
  /** Lets the tools of a session and its subagents use the client's files while the scope is open; gives what is to be said. */
  readonly useFiles: (
    root: SessionID,
    files: ClientFiles
  ) => Effect.Effect<ReadonlyArray<string>, never, Scope.Scope>
}
