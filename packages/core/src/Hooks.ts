/** Owns the hooks: functions and programs that watch, change or refuse what sessions do. */
import type { PermissionRequest } from "@skein/domain/Event"
import {
  type HookAnswer,
  hookAnswers,
  type HookEvent,
  type HookEventOf,
  hookEventOf,
  type HookName,
  type HookPayload
} from "@skein/domain/Hook"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { servicesForLater } from "./internal/traced.ts"
import { type Caller, covers } from "./Ruleset.ts"

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

/**
 * Compiles a matcher once. Matching takes time in proportion to its length and that of a name, whatever it contains.
 */
const matches = (matcher: string): (of: Caller) => boolean => {
  const patterns = matcher.toLowerCase().split("|").map((each) => each.trim()).filter((each) => each !== "")
  if (patterns.length === 0) return () => true
  return ({ name, permission }) => {
    const [byName, byKey] = [name.toLowerCase(), permission.toLowerCase()]
    return patterns.some((pattern) => covers(pattern, byName) || covers(pattern, byKey))
  }
}

/** The maximum length of a hook's reason, in characters. */
const longest = 4_000

/** A hook's text, truncated and well-formed, since it is stored and models read it. */
const words = (text: string): string => text.trim().slice(0, longest).toWellFormed()

/** The maximum length of what a hook adds to a prompt, in characters. */
const longestContext = 50_000

/** What a hook says to the model, truncated and well-formed; says how much is left out. */
const contextOf = (text: string): string =>
  text.length > longestContext
    ? `${
      text.slice(0, longestContext).toWellFormed()
    }\n(A hook said more: the rest of ${text.length} characters is left out.)`
    : text.toWellFormed()

const causeOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "it was interrupted"
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

const decoders = new Map<HookEvent, (answer: unknown) => Effect.Effect<HookAnswer, ParseResult.ParseError>>()

const decoderOf = (event: HookEvent) => {
  const known = decoders.get(event)
  if (known !== undefined) return known
  const made: (answer: unknown) => Effect.Effect<HookAnswer, ParseResult.ParseError> = Schema.decodeUnknown(
    hookAnswers[event] as Schema.Schema<HookAnswer>,
    { onExcessProperty: "error", errors: "all" }
  )
  decoders.set(event, made)
  return made
}

const read = (event: HookEvent, answer: unknown): Effect.Effect<HookAnswer, string> =>
  Effect.mapError(
    decoderOf(event)(answer === undefined ? {} : answer),
    (error) =>
      `its answer has not the form of one to ${event}: ${
        ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
          `${path.map(String).join(".")} ${message}`.trim()
        ).join("; ")
      }`
  )

/** Asks a hook; fails with what is wrong with it. */
const consult = <E extends HookEvent>(
  hook: Hook,
  payload: HookPayload<E>
): Effect.Effect<HookAnswer<E>, string> =>
  Effect.suspend(() => hook.run(payload)).pipe(
    // A hook may interrupt itself, as long as its caller is not interrupted.
    Effect.catchAllCause((cause) => Effect.fail(words(causeOf(cause)))),
    Effect.timeoutFail({
      duration: hook.timeout,
      onTimeout: () => `it did not answer within ${Duration.toSeconds(hook.timeout)} s`
    }),
    Effect.flatMap((answer) => Effect.mapError(read(hook.event, answer), words))
  ) as Effect.Effect<HookAnswer<E>, string>

interface Listener {
  readonly hook: Hook
  readonly means: (of: Caller) => boolean
}

const blocked = (
  { event, name }: Hook,
  { endsTurn, reason }: { readonly reason?: string | undefined; readonly endsTurn?: true | undefined },
  what: string
) =>
  new HookRefused({
    event,
    hook: name,
    reason: "blocked",
    ...(endsTurn === undefined ? {} : { endsTurn }),
    message: `${what} by a hook (${name})${reason === undefined || reason === "" ? "." : `: ${words(reason)}`}`
  })

/** The error of a failed hook whose answer is required. */
const closed = ({ event, name }: Hook, why: string, what: string) =>
  new HookRefused({
    event,
    hook: name,
    reason: "failed",
    message: `${what}, because the ${event} hook (${name}) failed: ${why}. Only the user can fix or remove the hook.`
  })

/** Reports a failed hook whose answer is optional. */
const reported = ({ event, name }: Hook, why: string) =>
  Effect.logError(`The ${event} hook (${name}) failed: ${why}. Fix it, or remove it from the hooks.`)

/** The answer of a hook whose answer is optional. */
const answerOf = <E extends HookEvent>(hook: Hook, payload: HookPayload<E>): Effect.Effect<HookAnswer<E> | undefined> =>
  Effect.catchAll(consult(hook, payload), (why) => Effect.as(reported(hook, why), undefined))

/** An agent as matchers see it. */
const agentOf = (path: ReadonlyArray<string>): Caller => {
  const name = path.at(-1) ?? ""
  return { name, permission: name }
}

const idOf = (callID: string | undefined) => callID === undefined || callID === "" ? {} : { callID }

/** Finds the hooks of an event that match a caller, in order. */
type Find = (event: HookEvent, caller: Caller) => ReadonlyArray<Hook>

/** Asks the hooks before a call; the first denial decides. */
const preToolUse = Effect.fnUntraced(function*(
  of: Find,
  { tool, ...payload }: Omit<HookPayload<"PreToolUse">, "tool"> & { readonly tool: Caller }
) {
  let decided: BeforeCall = {}
  for (const hook of of("PreToolUse", tool)) {
    const input = decided.changed === undefined ? payload.input : decided.changed.input
    const answer = yield* Effect.mapError(
      consult<"PreToolUse">(hook, { ...payload, tool: tool.name, input }),
      (why) => closed(hook, why, "The call was not made")
    )
    if (answer.decision === "deny") return yield* blocked(hook, answer, "The call was blocked")
    decided = {
      ...decided,
      ...(answer.decision === "ask"
        ? { asks: words(answer.reason ?? `The hook ${hook.name} asks for consent.`) }
        : {}),
      ...(answer.input === undefined ? {} : { changed: { input: answer.input } }),
      ...(answer.consent === undefined ? {} : { consents: answer.consent }),
      ...(answer.context === undefined
        ? {}
        : { contexts: [...decided.contexts ?? [], contextOf(answer.context)] })
    }
  }
  return decided
})

/** Asks the hooks before a person is asked; one that asks outweighs those that allow. */
const permissionRequest = Effect.fnUntraced(
  function*(of: Find, payload: HookPayload<"PermissionRequest">, tool: Caller) {
    let allows = false
    let asks = false
    let changed: QuestionAnswered["changed"]
    for (const hook of of("PermissionRequest", tool)) {
      const answer = yield* Effect.mapError(
        consult<"PermissionRequest">(hook, changed === undefined ? payload : { ...payload, input: changed.input }),
        (why) => closed(hook, why, "Permission denied")
      )
      if (answer.decision === "deny") return yield* blocked(hook, answer, "Permission denied")
      allows ||= answer.decision === "allow"
      asks ||= answer.decision === "ask"
      if (answer.decision === "allow" && answer.input !== undefined) changed = { input: answer.input }
    }
    return { allows: allows && !asks, ...(changed === undefined || asks ? {} : { changed }) }
  }
)

/** Lets the hooks after a call edit its result. */
const postToolUse = Effect.fnUntraced(function*(of: Find, payload: HookPayload<"PostToolUse">, tool: Caller) {
  let { output } = payload
  let ends = false
  for (const hook of of("PostToolUse", tool)) {
    const answer = yield* answerOf<"PostToolUse">(hook, { ...payload, output })
    if (answer?.decision === "deny") {
      const what = payload.failed === true
        ? "The call failed, and its error was withheld"
        : "The call was made, and its result withheld"
      return yield* blocked(hook, answer, what)
    }
    output = answer?.output?.toWellFormed() ?? output
    ends ||= answer?.endsTurn === true
  }
  return { output, ...(ends ? { endsTurn: true as const } : {}) }
})

/** Collects what hooks say at a start. */
const begins = Effect.fnUntraced(
  function*(of: Find, payload: HookPayload<"SessionStart"> | HookPayload<"SubagentStart">) {
    const contexts: Array<string> = []
    for (const hook of of(payload.event, agentOf(payload.path))) {
      const answer = yield* answerOf<"SessionStart" | "SubagentStart">(hook, payload)
      if (answer?.context !== undefined) contexts.push(contextOf(answer.context))
    }
    return contexts
  }
)

/** Collects why hooks want a session to continue. */
const stops = Effect.fnUntraced(function*(of: Find, payload: HookPayload<"Stop"> | HookPayload<"SubagentStop">) {
  const reasons: Array<string> = []
  for (const hook of of(payload.event, agentOf(payload.path))) {
    const answer = yield* answerOf<"Stop" | "SubagentStop">(hook, payload)
    if (answer?.decision === "deny") {
      reasons.push(words(answer.reason ?? "") || `The hook ${hook.name} wants you to continue.`)
    }
  }
  return reasons.length === 0 ? undefined : reasons.join("\n\n")
})

/** Asks the hooks whether a prompt is accepted. */
const userPromptSubmit = Effect.fnUntraced(function*(of: Find, payload: HookPayload<"UserPromptSubmit">) {
  const contexts: Array<string> = []
  for (const hook of of("UserPromptSubmit", agentOf(payload.path))) {
    const answer = yield* answerOf<"UserPromptSubmit">(hook, payload)
    if (answer?.decision === "deny") return yield* blocked(hook, answer, "The prompt was blocked")
    if (answer?.context !== undefined) contexts.push(contextOf(answer.context))
  }
  return contexts
})

/** Makes the service of these hooks. */
const makeHooks = (hooks: ReadonlyArray<Hook>) => {
  const listeners = new Map<HookEvent, Array<Listener>>()
  for (const hook of hooks) {
    const known = listeners.get(hook.event)
    const listener = { hook, means: matches(hook.matcher) }
    if (known === undefined) listeners.set(hook.event, [listener])
    else known.push(listener)
  }

  const of: Find = (event, caller) =>
    listeners.get(event)?.flatMap(({ hook, means }) => means(caller) ? [hook] : []) ?? []

  /** Notifies the hooks that cannot block. */
  const tell = (payload: HookPayload, caller = agentOf(payload.path)) =>
    listeners.has(payload.event)
      ? Effect.forEach(of(payload.event, caller), (hook) => answerOf(hook, payload), { discard: true })
      : Effect.void

  return {
    isEmpty: hooks.length === 0,
    isRegistered: (event: HookEvent, caller: Caller) =>
      listeners.get(event)?.some(({ means }) => means(caller)) ?? false,
    sessionStart: (at: HookPlace, source: HookPayload<"SessionStart">["source"] = "startup") =>
      begins(of, { event: "SessionStart", ...at, source }),
    sessionEnd: (at: HookPlace) => tell({ event: "SessionEnd", ...at }),
    userPromptSubmit: (at: HookPlace, prompt: string) =>
      userPromptSubmit(of, { event: "UserPromptSubmit", ...at, prompt }),
    preToolUse: (at: HookPlace, tool: Caller, input: unknown, callID?: string) =>
      preToolUse(of, { event: "PreToolUse", ...at, tool, input, ...idOf(callID) }),
    permissionRequest: (at: HookPlace, tool: Caller, request: PermissionRequest, call?: AskedFor) =>
      permissionRequest(of, { event: "PermissionRequest", ...at, tool: tool.name, request, ...call }, tool),
    postToolUse: (at: HookPlace, tool: Caller, input: unknown, end: HookEnd, callID?: string) =>
      postToolUse(of, { event: "PostToolUse", ...at, tool: tool.name, input, ...end, ...idOf(callID) }, tool),
    subagentStart: (at: HookPlace, prompt: string) => begins(of, { event: "SubagentStart", ...at, prompt }),
    subagentStop: (at: HookPlace, end: HookEnd, again = false) =>
      stops(of, { event: "SubagentStop", ...at, ...end, ...(again ? { again } : {}) }),
    stop: (at: HookPlace, end: HookEnd, again = false) =>
      stops(of, { event: "Stop", ...at, ...end, ...(again ? { again } : {}) }),
    preCompact: (at: HookPlace, trigger: "auto" | "manual") => tell({ event: "PreCompact", ...at, trigger }),
    notification: (at: HookPlace, tool: Caller, request: PermissionRequest, call?: AskedFor) =>
      tell({ event: "Notification", ...at, tool: tool.name, request, ...call }, tool)
  }
}

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
