/** One tool call from the model's request to its result: authorise, execute, settle. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Hooks } from "../../Hooks.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { Permission } from "../../Permission.ts"
import { type AnyTool, Tools } from "../../Tool.ts"
import { authoriseCall } from "./authoriseCall.ts"
import { type CallOptions, CallRecord } from "./CallRecord.ts"
import { executeCall } from "./executeCall.ts"
import { lost } from "./recoverCall.ts"
import { settleCall, settleResult } from "./settleCall.ts"

/** Makes a permitted call. */
const perform = (call: CallRecord, tool: AnyTool) =>
  Effect.flatMap(executeCall(call, tool), (result) => settleResult(call, tool, result))

/** Runs one call to its end. Fails only if storage does: everything else that goes wrong becomes the call's result. */
export const toolCall = Effect.fnUntraced(function*(options: CallOptions) {
  const context = yield* Effect.context<Tools | Permission | Journal | Hooks | Leases>()
  const call = new CallRecord(options, {
    tools: Context.get(context, Tools),
    permission: Context.get(context, Permission),
    journal: Context.get(context, Journal),
    hooks: Context.get(context, Hooks),
    leases: Context.get(context, Leases),
    clock: yield* Effect.clock
  })
  const made = Effect.suspend(() => {
    if (!call.wasBegun) return Effect.flatMap(authoriseCall(call), (tool) => perform(call, tool))
    return call.tool === undefined ? Effect.fail(lost) : perform(call, call.tool)
  })
  return yield* settleCall(call, made)
})
