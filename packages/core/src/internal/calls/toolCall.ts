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
import { settleCall } from "./settleCall.ts"

type Services = Tools | Permission | Journal | Hooks | Leases

/** Makes the call; returns the result with the tool. */
const made = (call: CallRecord) =>
  Effect.suspend(() => {
    const perform = (tool: AnyTool) => Effect.map(executeCall(call, tool), (result) => ({ tool, result }))
    if (!call.wasBegun) return Effect.flatMap(authoriseCall(call), perform)
    return call.tool === undefined ? Effect.fail(lost) : perform(call.tool)
  })

/** Runs one call to its end. Fails only if storage does: everything else that goes wrong becomes the call's result. */
export const toolCall = (options: CallOptions) =>
  Effect.flatMap(Effect.clock, (clock) =>
    Effect.contextWithEffect((context: Context.Context<Services>) => {
      const call = new CallRecord(options, {
        tools: Context.get(context, Tools),
        permission: Context.get(context, Permission),
        journal: Context.get(context, Journal),
        hooks: Context.get(context, Hooks),
        leases: Context.get(context, Leases),
        clock
      })
      return settleCall(call, made(call))
    }))
