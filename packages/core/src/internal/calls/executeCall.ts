/** The effect of a permitted call: it runs once it has a place, while its process holds the tree. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { StorageError } from "../../StorageError.ts"
import type { AnyTool, ToolContext, ToolError, ToolResult } from "../../Tool.ts"
import { missingResult } from "../conversation/makePrompt.ts"
import { deniesSome, editingOf, readsOnly } from "../permission/verdict.ts"
import type { CallRecord } from "./CallRecord.ts"
import { refused } from "./checkCall.ts"
import { type CurrentCall, currentCall, makePlace, whileAsking } from "./currentCall.ts"
import { recoverCall } from "./recoverCall.ts"
import { settleLeft } from "./settleCall.ts"

/** If only a fiber inside the call was interrupted, that is a failure of the call and does not stop the turn. */
const asFailure = <E>(cause: Cause.Cause<E>): Cause.Cause<E | ToolError> =>
  Cause.isInterruptedOnly(cause) ? Cause.fail(refused("interrupted", missingResult)) : cause

/** Nobody reads it. */
const unread: ToolResult = { title: "", output: "", metadata: {} }

/** Lets a tool that waits for others end the fiber of its call meanwhile. */
const leavingOf = (call: CallRecord, tool: AnyTool): Pick<ToolContext, "leave"> => {
  const { leave } = call.options
  if (leave === undefined || !tool.waits) return {}
  return {
    leave: ({ onReady, result }) =>
      Effect.sync(() => {
        call.leaveFiber()
        leave({
          onReady,
          wait: result,
          settle: (exit) =>
            settleLeft(
              call,
              Exit.mapBoth(Exit.mapErrorCause(exit, asFailure), {
                onFailure: (error) => error,
                onSuccess: (found) => ({ tool, result: found })
              })
            )
        })
        return unread
      })
  }
}

/** The call itself, with the current rules. */
const execute = (
  call: CallRecord,
  tool: AnyTool,
  mine: CurrentCall
): Effect.Effect<ToolResult, ToolError | StorageError> => {
  const { context, options: { live, part, resumes = false, subject }, services: { leases, permission } } = call
  return Effect.zipRight(
    // An effect cannot be undone, so it begins only while the lease of the tree is certain.
    leases.renew(live.info.rootID),
    Effect.flatMap(
      subject.now ?? Effect.succeed(subject),
      (holds): Effect.Effect<ToolResult, ToolError | StorageError> => {
        // A process that leaves its tree tells the next one which calls have not begun.
        const { barrier } = live.pause
        if (barrier !== undefined) return Effect.zipRight(mine.waiting(barrier), execute(call, tool, mine))
        live.history.markBegun(part.id)
        // A ceiling may have been lowered while the call waited for a person, or for its turn.
        const present = {
          ...context,
          readsOnly: readsOnly(holds),
          mode: holds.mode,
          editing: editingOf(holds),
          deniesSome: deniesSome(holds),
          readAction: permission.readAction(holds),
          ...leavingOf(call, tool)
        }
        return call.wasBegun && resumes ? recoverCall(call, tool, present) : tool.execute(call.input, present)
      }
    )
  )
}

/** Runs the tool. */
export const executeCall = (call: CallRecord, tool: AnyTool) => {
  const { context, options: { call: slot, live, places, resumes = false } } = call
  // What waits for others needs no place.
  const place = makePlace(tool.waits ? undefined : places)
  const mine: CurrentCall = {
    caller: context,
    resumes,
    whileAsking: (effect) => whileAsking(live, effect),
    waiting: (effect) => slot.waiting(place.waiting(effect))
  }
  const effect = Effect.catchAllCause(
    Effect.locally(execute(call, tool, mine), currentCall, mine),
    (cause) => Effect.failCause(asFailure(cause))
  )
  return tool.waits ? slot.waiting(effect) : place.work(effect)
}
