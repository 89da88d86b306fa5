/** The hooks around one call: those before it see what the model wrote, those after it what the model will read. */
import type { ToolPart } from "@skein/domain/Part"
import type { Action } from "@skein/domain/Rule"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { HookRefused } from "../../Hook.ts"
import type { AfterCall, HookPlace, Hooks } from "../../Hooks.ts"
import type { AnyTool, CalledThrough, PermissionAsk } from "../../Tool.ts"
import { askedOf } from "../conversation/askedOf.ts"
import { type Acting, pathOf } from "../live/Live.ts"

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
