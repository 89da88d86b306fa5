/** Owns what a program or its user has hung into the life of a prompt: who is told of what, and may block or change it. */
import type { PermissionRequest } from "@skein/domain/Event"
import {
  type HookAnswer,
  type HookEvent,
  type HookEventOf,
  hookEventOf,
  type HookName,
  type HookPayload
} from "@skein/domain/Hook"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AfterCall, AskedFor, BeforeCall, Hook, HookEnd, HookPlace, QuestionAnswered } from "./Hook.ts"
import type { HookRefused } from "./HookError.ts"
import { makeHooks } from "./internal/hooks/makeHooks.ts"
import { servicesForLater } from "./internal/traced.ts"
import type { Caller } from "./Subject.ts"

export type { AfterCall, Hook, HookEnd, HookPlace } from "./Hook.ts"

/** What can be said of a hook. */
export interface HookOptions {
  /** What it is called where it blocks or fails. */
  readonly name?: string
  /**
   * Names with `|` between them, `*` and `?` as wildcards, whatever their case: of tools (or of their permission keys, so
   * that `edit` covers `write` and `patch`) where the event is about a call, of agents elsewhere. Everything where absent.
   */
  readonly matcher?: string
  /** How long it may take; a minute where absent. */
  readonly timeout?: Duration.DurationInput
}

/** How long a hook may take where nothing is said. */
const defaultTimeout = "60 seconds"

/**
 * Makes a hook of an Effect: `on("PreToolUse", ({ input }) => ..., { matcher: "bash" })`. It answers nothing where it has no
 * opinion; to fail is to have failed as a hook. It is interrupted when its time is over, and waited for.
 */
export const on = <N extends HookName, R = never>(
  event: N,
  run: (payload: HookPayload<HookEventOf<N>>) => Effect.Effect<HookAnswer<HookEventOf<N>> | void, unknown, R>,
  { matcher = "", name = "of this program", timeout = defaultTimeout }: HookOptions = {}
): Hook<R> => ({
  event: hookEventOf(event),
  name,
  matcher,
  timeout,
  // It is only ever told of its own event.
  run: run as Hook<R>["run"]
})

/** The hooks. Those of one event run one after the other, each told what the one before it has changed; the strictest decision counts. */
export class Hooks extends Context.Tag("@skein/core/Hooks")<Hooks, {
  /** Whether anybody listens: where not, nothing else here needs to be called. */
  readonly hears: (event: HookEvent, of: Caller) => boolean
  /** What hooks tell the model at the beginning. */
  readonly sessionStart: (
    at: HookPlace,
    source?: HookPayload<"SessionStart">["source"]
  ) => Effect.Effect<ReadonlyArray<string>>
  readonly sessionEnd: (at: HookPlace) => Effect.Effect<void>
  /** What hooks tell the model with a prompt; fails where one does not want the prompt to be taken. */
  readonly userPromptSubmit: (at: HookPlace, prompt: string) => Effect.Effect<ReadonlyArray<string>, HookRefused>
  /** Fails where a hook blocks the call, and where one fails. */
  readonly preToolUse: (
    at: HookPlace,
    tool: Caller,
    input: unknown,
    callID?: string
  ) => Effect.Effect<BeforeCall, HookRefused>
  /** Whether a hook consents to what is asked for; fails where one refuses, and where one fails. */
  readonly permissionRequest: (
    at: HookPlace,
    tool: Caller,
    request: PermissionRequest,
    call?: AskedFor
  ) => Effect.Effect<QuestionAnswered, HookRefused>
  /** What the model reads of a call; fails where a hook withholds it. */
  readonly postToolUse: (
    at: HookPlace,
    tool: Caller,
    input: unknown,
    end: HookEnd,
    callID?: string
  ) => Effect.Effect<AfterCall, HookRefused>
  /** What hooks tell a subagent with its prompt. */
  readonly subagentStart: (at: HookPlace, prompt: string) => Effect.Effect<ReadonlyArray<string>>
  /** What the subagent is prompted with next, where a hook wants it to go on; `again` where it has gone on in that way. */
  readonly subagentStop: (at: HookPlace, end: HookEnd, again?: boolean) => Effect.Effect<string | undefined>
  /** What the next turn is prompted with, where a hook wants one; `again` where the turn began in that way. */
  readonly stop: (at: HookPlace, end: HookEnd, again?: boolean) => Effect.Effect<string | undefined>
  readonly preCompact: (at: HookPlace, trigger: "auto" | "manual") => Effect.Effect<void>
  readonly notification: (
    at: HookPlace,
    tool: Caller,
    request: PermissionRequest,
    call?: AskedFor
  ) => Effect.Effect<void>
}>() {
  /** These hooks. */
  static readonly layer = <R = never>(hooks: ReadonlyArray<Hook<R>>): Layer.Layer<Hooks, never, R> =>
    Hooks.layerEffect(Effect.succeed(hooks))

  /** Hooks that have to be found first, such as those of config. */
  static readonly layerEffect = <R, E, R2>(
    hooks: Effect.Effect<ReadonlyArray<Hook<R>>, E, R2>
  ): Layer.Layer<Hooks, E, R | R2> =>
    Layer.effect(
      Hooks,
      Effect.zipWith(hooks, servicesForLater<R>(), (all, context) =>
        makeHooks(all.map((hook) => ({
          ...hook,
          run: (payload) => Effect.provide(hook.run(payload), context)
        }))))
    )

  /** Nobody listens. */
  static readonly layerNoop: Layer.Layer<Hooks> = Layer.sync(Hooks, () => makeHooks([]))
}
