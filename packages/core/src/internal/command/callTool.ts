/** Makes a tool call for a person, outside a turn: hooks, permission and effect are those of any call. */
import { Ids } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Hooks } from "../../Hooks.ts"
import { Permission } from "../../Permission.ts"
import { cut } from "../../Spill.ts"
import { type AnyTool, type PermissionAsk, type ToolContext, ToolError, type ToolResult, Tools } from "../../Tool.ts"
import { callerOf, subjectOf } from "../calls/offer.ts"
import type { Acting } from "../live/Live.ts"
import { readingOf, readsOnly } from "../permission/verdict.ts"
import { afterCall, deniedFirst, insisting, placeOf, withContexts } from "../sessionHooks/callHooks.ts"

/** The call to make. */
export interface UserCall {
  readonly tool: string
  readonly input: object
  /** The input that hooks see, if that is not all of it. */
  readonly hookInput?: object
  /** Applies a hook's change of that to the input. */
  readonly changed?: (by: object) => object
  /** Whether the person named exactly this: that lifts `ask`, never `deny`. */
  readonly consented: boolean
}

const unknownModel = { providerID: "", modelID: "" }

const whileAsking = <A, E, R>(live: Acting, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => live.clock.beginAsking()),
    () => effect,
    () => Effect.sync(() => live.clock.endAsking())
  )

/** The arguments of a hook that replace the original ones. */
const changedBy = (tool: AnyTool, given: unknown): Effect.Effect<object, ToolError> =>
  Schema.decodeUnknown(tool.parameters)(given, { onExcessProperty: "error" }).pipe(
    Effect.map((decoded) => decoded as object),
    Effect.mapError((error) =>
      new ToolError({
        kind: "invalid_arguments",
        message: `invalid arguments for ${tool.name}, which a hook has changed: ${
          ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message }) => message).join("; ")
        }`
      })
    )
  )

/** Makes the call as the agent of this session; the output is truncated like that of any call. */
export const callTool = Effect.fnUntraced(function*(live: Acting, call: UserCall) {
  const tools = yield* Tools
  const permission = yield* Permission
  const hooks = yield* Hooks
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const tool = tools.get(call.tool)
  if (tool === undefined) {
    return yield* new ToolError({ kind: "unknown_tool", message: `This program has no tool "${call.tool}".` })
  }
  const subject = yield* subjectOf(live)
  const context: ToolContext = {
    ...callerOf(live, live.info.model ?? unknownModel, true),
    messageID: ids.unsafeMake("msg", now),
    partID: ids.unsafeMake("prt", now),
    callID: "",
    readsOnly: readsOnly(subject),
    mode: subject.mode,
    reading: readingOf(subject),
    readAction: permission.readAction(subject),
    // A call of the user is made at once, and recorded nowhere.
    confirm: Effect.succeed(Number.POSITIVE_INFINITY),
    report: () => Effect.void,
    ifCutOff: () => Effect.void,
    tells: () => Effect.void
  }
  const before = hooks.isRegistered("PreToolUse", tool)
    ? yield* hooks.preToolUse(placeOf(live), tool, call.hookInput ?? call.input)
    : undefined
  const by = before?.changed === undefined ? undefined : yield* changedBy(tool, before.changed.input)
  const input = by === undefined ? call.input : call.changed?.(by) ?? by
  const ask = (requested: PermissionAsk) => {
    const each = call.consented ? { ...requested, consented: true } : requested
    return Effect.flatMap(
      permission.decide(subject, tool, each),
      (action) => action === "allow" ? Effect.void : whileAsking(live, permission.authorise(subject, tool, each))
    )
  }
  const asks = insisting(yield* tool.authorise(input, context), tool, input, before)
  for (const each of yield* deniedFirst(asks, (one) => permission.decide(subject, tool, one))) yield* ask(each)
  const result: ToolResult = yield* tool.execute(input, context)
  const read = yield* afterCall(hooks, live, tool, by ?? call.hookInput ?? input, result.output)
  const output = withContexts(read.output, before?.contexts)
  return { ...result, output: yield* cut(live.info.id, `${context.partID}.txt`, output) }
})
