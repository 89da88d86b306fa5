/** What a hook is, and how one reports that it blocked something. */
import type { HookAnswer, HookEvent, HookPayload } from "@skein/domain/Hook"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A hook as registered; `on` creates one. */
export interface Hook<R = never> {
  readonly event: HookEvent
  readonly name: string
  readonly matcher: string
  readonly timeout: Duration.DurationInput
  readonly run: (payload: HookPayload) => Effect.Effect<HookAnswer | void, unknown, R>
}

/** The session that an event is about. */
export type HookPlace = Pick<HookPayload<"SessionStart">, "sessionID" | "rootID" | "path" | "cwd">

/** What the hooks before a call decided. */
export interface BeforeCall {
  /** Replaces the call's arguments. */
  readonly changed?: { readonly input: unknown }
  /** Why a person must be asked, whatever the rules say. */
  readonly asks?: string
  /** Whether a hook consents: then nobody is asked, and what rules deny stays denied. */
  readonly consents?: true
  /** Text for the model, below the result. */
  readonly contexts?: ReadonlyArray<string>
}

/** What hooks decided about a permission question. */
export interface QuestionAnswered {
  /** Whether a hook consents. */
  readonly allows: boolean
  /** Replaces the call's arguments. */
  readonly changed?: { readonly input: unknown }
}

/** The call that a question is about. */
export type AskedFor = Pick<HookPayload<"PermissionRequest">, "input" | "callID">

/** What hooks made of a call's result. */
export interface AfterCall {
  /** What the model reads. */
  readonly output: string
  /** Whether the turn ends with this step. */
  readonly endsTurn?: true
}

/** How something ended. */
export type HookEnd = Pick<HookPayload<"Stop">, "output" | "failed">

/** A hook blocked something, or failed where it must not. The model reads `message`. */
export class HookRefused extends Schema.TaggedError<HookRefused>()("HookRefused", {
  event: Schema.String,
  /** The name of the hook. */
  hook: Schema.String,
  reason: Schema.Literal("blocked", "failed"),
  /** Whether the hook also ends the turn. */
  endsTurn: Schema.optional(Schema.Literal(true)),
  message: Schema.String
}) {}
