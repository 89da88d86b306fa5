/**
 * Owns the hooks that a program or its user adds to the life of a prompt: which events they receive, and what they may
 * block or change.
 */
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
import type {
  AfterCall,
  AskedFor,
  BeforeCall,
  Hook,
  HookEnd,
  HookPlace,
  HookRefused,
  QuestionAnswered
} from "./Hook.ts"
import { makeHooks } from "./internal/hooks.ts"
import { servicesForLater } from "./internal/traced.ts"
import type { Caller } from "./Ruleset.ts"

export type { AfterCall, Hook, HookEnd, HookPlace } from "./Hook.ts"

/** The options of a hook. */
export interface HookOptions {
  /** Its name in messages. */
  readonly name?: string
  /**
   * Names with `|` between them, with `*` and `?` as wildcards, in any case. They match tools (or their permission
   * keys, so that `edit` covers `write` and `patch`) if the event is about a call, else agents. Matches everything if
   * absent.
   */
  readonly matcher?: string
  /** The time limit; a minute if absent. */
  readonly timeout?: Duration.DurationInput
}

/** The default time limit of a hook. */
const defaultTimeout = "60 seconds"

/**
 * Makes a hook of an Effect: `on("PreToolUse", ({ input }) => ..., { matcher: "bash" })`. Return nothing to have no
 * opinion. If the effect fails, the hook has failed. After its time limit it is interrupted and awaited.
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
  // It only ever receives its own event.
  run: run as Hook<R>["run"]
})

/**
 * The hooks. The hooks of one event run one after the other, and each sees what the one before changed. The strictest
 * decision wins.
 */
export class Hooks extends Context.Tag("@skein/core/Hooks")<Hooks, {
  /** Whether there is no hook at all. */
  readonly isEmpty: boolean
  /** Whether any hook is registered: if not, you need not call the other members. */
  readonly isRegistered: (event: HookEvent, of: Caller) => boolean
  /** What hooks say to the model when a session starts. */
  readonly sessionStart: (
    at: HookPlace,
    source?: HookPayload<"SessionStart">["source"]
  ) => Effect.Effect<ReadonlyArray<string>>
  readonly sessionEnd: (at: HookPlace) => Effect.Effect<void>
  /** What hooks say to the model with a prompt; fails if one rejects the prompt. */
  readonly userPromptSubmit: (at: HookPlace, prompt: string) => Effect.Effect<ReadonlyArray<string>, HookRefused>
  /** Fails if a hook blocks the call, or fails itself. */
  readonly preToolUse: (
    at: HookPlace,
    tool: Caller,
    input: unknown,
    callID?: string
  ) => Effect.Effect<BeforeCall, HookRefused>
  /** Whether a hook consents; fails if one refuses, or fails itself. */
  readonly permissionRequest: (
    at: HookPlace,
    tool: Caller,
    request: PermissionRequest,
    call?: AskedFor
  ) => Effect.Effect<QuestionAnswered, HookRefused>
  /** What the model reads of a call's result; fails if a hook withholds it. */
  readonly postToolUse: (
    at: HookPlace,
    tool: Caller,
    input: unknown,
    end: HookEnd,
    callID?: string
  ) => Effect.Effect<AfterCall, HookRefused>
  /** What hooks say to a subagent with its prompt. */
  readonly subagentStart: (at: HookPlace, prompt: string) => Effect.Effect<ReadonlyArray<string>>
  /** The next prompt of the subagent, if a hook wants it to continue; `again` if it already continued that way. */
  readonly subagentStop: (at: HookPlace, end: HookEnd, again?: boolean) => Effect.Effect<string | undefined>
  /** The prompt of the next turn, if a hook wants one; `again` if this turn began that way. */
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

  /** Hooks that must be loaded first, such as those of config. */
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

  /** No hooks. */
  static readonly layerNoop: Layer.Layer<Hooks> = Layer.sync(Hooks, () => makeHooks([]))
}
