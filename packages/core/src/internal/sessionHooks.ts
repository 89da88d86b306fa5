/** Runs the hooks of a session: those of its calls, and those of its turns. */
import type { Outcome } from "@skein/domain/Outcome"
import type { PartInput, ToolPart } from "@skein/domain/Part"
import type { Action } from "@skein/domain/Rule"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type AfterCall, type HookEnd, type HookPlace, type HookRefused, Hooks } from "../Hooks.ts"
import { Projects } from "../Projects.ts"
import type { AnyTool, CalledThrough, PermissionAsk } from "../Tool.ts"
import type { Turn } from "../Turn.ts"
import { askedOf } from "./conversation/askedOf.ts"
import { type Acting, type Live, pathOf } from "./live/Live.ts"
import { inProject } from "./live/SessionTable.ts"

type Service = Context.Tag.Service<typeof Hooks>

/** A session as hooks see it. */
export const placeOf = (live: Acting): HookPlace => ({
  sessionID: live.info.id,
  rootID: live.info.rootID,
  path: pathOf(live),
  cwd: live.info.directory
})

/** The result of the hooks before a call. */
export interface Before {
  /** The call, with other arguments if a hook changed them. */
  readonly part: ToolPart
  /** Why a person must be asked, whatever the rules say. */
  readonly asks: string | undefined
  readonly consents: boolean
  /** Text for the model, below the result. */
  readonly contexts: ReadonlyArray<string>
  /** Why the call is blocked. */
  readonly refusal: HookRefused | undefined
}

/** A call with the arguments that a hook gives it. */
export const withInput = (part: ToolPart, input: unknown): ToolPart => ({
  ...part,
  state: { status: "pending", input: JSON.stringify(input) ?? "null" }
})

/** A result, followed by what hooks said before the call. */
export const withContexts = (output: string, contexts: ReadonlyArray<string> = []): string =>
  [output, ...contexts.map((text) => `A hook says of this call: ${text}`)].join("\n\n")

const noHooks = Effect.succeed(undefined)

/** A call as hooks see it: of the tool that does the work. */
export const asHooksSee = (tool: AnyTool, input: unknown): CalledThrough =>
  tool.calls?.(input) ?? { tool, input, withInput: (changed) => changed }

/** Asks the hooks before a call, if there are any. */
export const beforeCall = (hooks: Service, live: Acting, part: ToolPart, called: AnyTool | undefined) => {
  if (called === undefined) return noHooks
  const { input, tool, withInput: changing } = asHooksSee(called, askedOf(part))
  if (!hooks.isRegistered("PreToolUse", tool)) return noHooks
  return Effect.map(
    Effect.either(hooks.preToolUse(placeOf(live), tool, input, part.callID)),
    (decided): Before => {
      if (Either.isLeft(decided)) {
        return { part, asks: undefined, consents: false, contexts: [], refusal: decided.left }
      }
      const { asks, changed, consents = false, contexts = [] } = decided.right
      const made = changed === undefined ? part : withInput(part, changing(changed.input))
      return { part: made, asks, consents, contexts, refusal: undefined }
    }
  )
}

/** What a call needs consent for if a hook wants a person to be asked, or consents itself. */
export const insisting = (
  asks: ReadonlyArray<PermissionAsk>,
  { name, permission }: AnyTool,
  input: unknown,
  { asks: reason, consents = false }: { readonly asks?: string | undefined; readonly consents?: boolean } = {}
): ReadonlyArray<PermissionAsk> => {
  if (reason === undefined) return consents ? asks.map((ask) => ({ ...ask, consented: true })) : asks
  const own = asks.filter((ask) => ask.permission === permission)
  const asked = own.length > 0
    ? own
    : [{ permission, patterns: ["*"], always: [], metadata: { tool: name, input } }]
  return [
    ...asks.filter((ask) => ask.permission !== permission),
    ...asked.map((ask) => ({ ...ask, always: [], insists: true, metadata: { ...ask.metadata, reason } }))
  ]
}

/** The questions of a call, those first that are denied: a person is not asked about what cannot run anyway. */
export const deniedFirst = <E>(
  asks: ReadonlyArray<PermissionAsk>,
  decide: (ask: PermissionAsk) => Effect.Effect<Action, E>
): Effect.Effect<ReadonlyArray<PermissionAsk>, E> =>
  asks.length < 2
    ? Effect.succeed(asks)
    : Effect.map(Effect.forEach(asks, decide), (actions) => {
      const isDenied = (at: number) => actions[at] === "deny"
      return [...asks.filter((_, at) => isDenied(at)), ...asks.filter((_, at) => !isDenied(at))]
    })

/** What the model reads of an ended call. */
export const afterCall = (
  hooks: Service,
  live: Acting,
  called: AnyTool | undefined,
  given: unknown,
  output: string,
  { callID, failed = false }: { readonly callID?: string; readonly failed?: boolean } = {}
): Effect.Effect<AfterCall, HookRefused> => {
  if (called === undefined) return Effect.succeed({ output })
  const { input, tool } = asHooksSee(called, given)
  return hooks.isRegistered("PostToolUse", tool)
    ? hooks.postToolUse(placeOf(live), tool, input, { output, ...(failed ? { failed } : {}) }, callID)
    : Effect.succeed({ output })
}

/** The time limit of all SessionEnd hooks together: the program waits for them as it exits. */
const longestEnd = "4 seconds"

const promptOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.prompt] : []).join("\n")

/**
 * Calls the hooks for a prompt before it is stored, and for the session that its first prompt starts. A subagent's
 * prompt counts as its start: users prompt roots. What hooks say to the model is added to the prompt.
 */
export const promptHooks = () => {
  const begun = new Set<Live>()
  const submitted = (
    live: Live,
    parts: ReadonlyArray<PartInput>
  ): Effect.Effect<ReadonlyArray<PartInput>, HookRefused, Hooks> =>
    Effect.flatMap(Hooks, (hooks) => {
      if (live.parent !== undefined) return Effect.succeed(parts)
      const at = placeOf(live)
      const taken = hooks.userPromptSubmit(at, promptOf(parts))
      const first = !begun.has(live)
      begun.add(live)
      return Effect.map(
        first
          ? Effect.zipWith(
            hooks.sessionStart(at, live.info.turn === undefined ? "startup" : "resume"),
            taken,
            (a, b) => [...a, ...b]
          )
          : taken,
        (contexts) => [...parts, ...contexts.map((text): PartInput => ({ type: "text", text, synthetic: true }))]
      )
    })
  /**
   * Calls the hooks when this process closes the sessions that it prompted. It runs in its own fiber, since the closing
   * fiber may be interrupted.
   */
  const ended = Effect.suspend(() =>
    Effect.forEach(begun, (live) =>
      Effect.catchAll(
        Projects.use(live.info.directory, Effect.flatMap(Hooks, (hooks) => hooks.sessionEnd(placeOf(live)))),
        ({ message }) => Effect.logWarning("SessionEnd hooks did not run", message)
      ), { concurrency: "unbounded", discard: true })
  ).pipe(
    Effect.timeoutOption(longestEnd),
    Effect.interruptible,
    Effect.fork,
    Effect.flatMap(Fiber.await),
    Effect.when(() => begun.size > 0)
  )
  return { submitted, ended }
}

const endOf = (exit: Exit.Exit<Turn, { readonly message: string }>): HookEnd => {
  if (Exit.isSuccess(exit)) return { output: exit.value.text }
  const error = Cause.squash(exit.cause)
  return { output: error instanceof Error ? error.message : String(error), failed: true }
}

/**
 * Calls the hooks when a turn of a root has ended on its own; returns the prompt of the next one, if a hook wants one.
 */
export const turnEnded = (live: Live, exit: Exit.Exit<Turn, { readonly message: string }>, again: boolean) =>
  live.parent === undefined
    ? inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.stop(placeOf(live), endOf(exit), again)))
    : Effect.succeed(undefined)

/** Calls the hooks when a subagent starts; returns what they add to its prompt. */
export const runBegins = (live: Live, prompt: string) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStart(placeOf(live), prompt)))

/** Calls the hooks when a subagent has ended a turn well; returns its next prompt, if a hook wants it to continue. */
export const runEnds = (live: Live, output: string, again: boolean) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStop(placeOf(live), { output }, again)))

/** Calls the hooks with the outcome of a run, unless its last turn has done so, or the run was abandoned. */
export const runEnded = (live: Live, outcome: Outcome) =>
  outcome.status === "completed"
    ? Effect.void
    : inProject(
      live,
      Effect.flatMap(Hooks, (hooks) =>
        Effect.exit(Effect.interruptible(
          hooks.subagentStop(placeOf(live), {
            output: outcome.status === "failed" ? outcome.error.message : outcome.text,
            failed: true
          })
        )))
    )
