/** Decides what Skein as an MCP service asks of the program that it runs in. */
import type { ModelRef } from "@skein/domain/Model"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** Nothing is done in this directory for a client; the message says why, and how to fix it. */
export class PlaceRefused extends Schema.TaggedError<PlaceRefused>()("PlaceRefused", { message: Schema.String }) {}

/** A directory in which work may be delegated. */
export interface Place {
  /** Its real path. */
  readonly directory: string
  /** The project that it belongs to: what approvals go by. */
  readonly projectID: string
}

/** What the program does for clients. */
export interface ServingHost {
  readonly version: string
  /** The model that answers if none is set up, and what to say instead of letting it answer a task. */
  readonly fallback?: { readonly model: ModelRef; readonly message: string }
  /** The place of a directory, unless it is none, or lies in a project whose files want more than the user has allowed. */
  readonly place: (directory: string) => Effect.Effect<Place, PlaceRefused>
}
