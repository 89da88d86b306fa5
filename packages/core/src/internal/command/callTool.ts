/** Makes a call of a tool for a person, outside of a turn: hooks, permission and effect are those of any call. */
import { Ids } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Hooks } from "../../Hooks.ts"
import { Permission } from "../../Permission.ts"
import { cut } from "../../Spill.ts"
import { type AnyTool, type PermissionAsk, type ToolContext, ToolError, type ToolResult, Tools } from "../../Tool.ts"
import { afterCall, insisting, placeOf } from "../hooks/callHooks.ts"
import { type Live, personAnswers } from "../session/live.ts"
import { callerOf, subjectOf } from "../session/offer.ts"

/** What is called. */
export interface UserCall {
  readonly tool: string
  readonly input: object
  /** Whether the person named just this: then nobody is asked again, and what is denied stays denied. */
  readonly consented: boolean
}

const unknownModel = { providerID: "", modelID: "" }

const whileAsking = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.clock, (clock) =>
    Effect.acquireUseRelease(
      Effect.sync(() => personAnswers(live, clock.unsafeCurrentTimeMillis(), true)),
      () => effect,
      () => Effect.sync(() => personAnswers(live, clock.unsafeCurrentTimeMillis(), false))
    ))

/** The arguments that a hook has put in the place of others; what stands beside them without being told to hooks stays. */
const changed = (tool: AnyTool, input: object, by: unknown) =>
  Schema.decodeUnknown(tool.parameters)(by, { onExcessProperty: "error" }).pipe(
    Effect.map((decoded): object =>
      Object.assign(
        { ...decoded },
        ...Object.getOwnPropertySymbols(input).map((key) => ({ [key]: Reflect.get(input, key) as unknown }))
      )
    ),
    Effect.mapError((error) =>
      new ToolError({
        kind: "invalid_arguments",
        message: `invalid arguments for ${tool.name}, which a hook has changed: ${
          ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message }) => message).join("; ")
        }`
      })
    )
  )

/** Calls it, as the agent of this session; the output is bounded as that of any call. */
export const callTool = Effect.fnUntraced(function*(live: Live, call: UserCall) {
  const tools = yield* Tools
  const permission = yield* Permission
  const hooks = yield* Hooks
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const tool = tools.get(call.tool)
  if (tool === undefined) {
    return yield* new ToolError({ kind: "unknown_tool", message: `This program has no tool "${call.tool}".` })
  }
  const context: ToolContext = {
    ...callerOf(live, live.info.model ?? unknownModel, true),
    messageID: ids.unsafeMake("msg", now),
    partID: ids.unsafeMake("prt", now),
    callID: "",
    report: () => Effect.void,
    ifCutOff: () => Effect.void,
    tells: () => Effect.void
  }
  const before = hooks.hears("PreToolUse", tool)
    ? yield* hooks.preToolUse(placeOf(live), tool, call.input)
    : undefined
  const input = before?.changed === undefined ? call.input : yield* changed(tool, call.input, before.changed.input)
  const subject = yield* subjectOf(live)
  const ask = (wanted: PermissionAsk) => {
    const each = call.consented ? { ...wanted, consented: true } : wanted
    return Effect.flatMap(
      permission.decide(subject, tool, each),
      (action) => action === "allow" ? Effect.void : whileAsking(live, permission.authorise(subject, tool, each))
    )
  }
  for (const each of insisting(yield* tool.authorise(input, context), tool, input, before?.asks)) yield* ask(each)
  const result: ToolResult = yield* tool.execute(input, context)
  const read = yield* afterCall(hooks, live, tool, input, result.output)
  return { ...result, output: yield* cut(live.info.id, `${context.partID}.txt`, read) }
})
