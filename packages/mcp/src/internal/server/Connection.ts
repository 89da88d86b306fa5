/** A server that was reached, and what it has. */
import type { Client, Prompt } from "@modelcontextprotocol/client"
import type * as Effect from "effect/Effect"
import type { ListMethod } from "../listing/passAnswers.ts"
import type { Listed } from "../listing/readTools.ts"
import type { ServerFailed } from "../ServerFailed.ts"

/** A server that was reached. */
export interface Connection {
  readonly client: Client
  /** Ends when the connection has ended, and says why. */
  readonly ended: Effect.Effect<string>
  /** The same, once it has ended. */
  readonly whyEnded: () => string | undefined
  /** Each ends when it says that this list has changed since the last time. */
  readonly changed: { readonly tools: Effect.Effect<void>; readonly prompts: Effect.Effect<void> }
  /** Its tools now, and what was left out of them. */
  readonly tools: Effect.Effect<Listed, ServerFailed>
  /** Its prompts now. */
  readonly prompts: Effect.Effect<ReadonlyArray<Prompt>, ServerFailed>
  /** What was left out of its last list of a kind, and why. */
  readonly leftOut: (method: ListMethod) => ReadonlyArray<string>
}
