/** A server that was reached, and what it has. */
import type { Client, Prompt } from "@modelcontextprotocol/client"
import type * as Effect from "effect/Effect"
import type { Listed } from "../listing/readTools.ts"
import type { ServerFailed } from "../ServerFailed.ts"

/** A server that was reached. */
export interface Connection {
  readonly client: Client
  /** Ends when the connection has ended, and says why. */
  readonly ended: Effect.Effect<string>
  /** The same, once it has ended. */
  readonly whyEnded: () => string | undefined
  /** Ends when it says that something in its lists has changed since the last time. */
  readonly changed: Effect.Effect<void>
  /** Its tools now, and what was left out of them. */
  readonly tools: Effect.Effect<Listed, ServerFailed>
  /** Its prompts now. */
  readonly prompts: Effect.Effect<ReadonlyArray<Prompt>, ServerFailed>
}
