/** Decides what happens to a call that a dead process started. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { StorageError } from "../../StorageError.ts"
import type { AnyTool, ToolContext, ToolError, ToolResult } from "../../Tool.ts"
import type { CallRecord } from "./CallRecord.ts"
import { refused } from "./checkCall.ts"

/** The call started, and its effect is unknown. */
export const lost = refused(
  "interrupted",
  "The call was interrupted, outcome unknown: the process that ran it ended, or was frozen and lost the session, before the result was stored. Check what it did before you repeat it."
)

/** The same, while nobody knows whether it has ended. */
const lostOutOfReach = refused(
  "interrupted",
  "The call was interrupted, outcome unknown: the process that ran it is out of reach, on another machine or in another container, and its command may still run there. Check what it did, and whether it still does something, before you repeat it."
)

/**
 * Whether the tool accepts these arguments: they come from the database, where another version may have stored them.
 */
const isReadable = (tool: AnyTool, input: unknown): boolean =>
  Either.isRight(Schema.validateEither(tool.parameters)(input))

/** The result of such a call, if it can be found, or that it may be made, perhaps again. */
const recovered = (
  tool: AnyTool,
  input: unknown,
  context: ToolContext,
  unknown: ToolError,
  isUnbegun: boolean
): Effect.Effect<ToolResult | "again", ToolError> => {
  if (!isReadable(tool, input)) return Effect.fail(unknown)
  if (isUnbegun) return Effect.succeed("again")
  if (tool.recover !== undefined) return tool.recover(input, context)
  return tool.effect === "safe" ? Effect.succeed("again") : Effect.fail(unknown)
}

/** Finds the outcome of the call, or makes it if it has not begun, or if repeating it does no harm. */
export const recoverCall = (
  call: CallRecord,
  tool: AnyTool,
  present: ToolContext
): Effect.Effect<ToolResult, ToolError | StorageError> => {
  const { current, options: { live: { info } }, services: { leases } } = call
  const isUnbegun = current.intent?.begun === false
  const unknown = leases.hasOrphanProcesses(info.rootID) ? lostOutOfReach : lost
  return Effect.flatMap(recovered(tool, call.input, present, unknown, isUnbegun), (found) => {
    if (found !== "again") return Effect.succeed(found)
    if (current.intent === undefined) return Effect.zipRight(call.become(current), tool.execute(call.input, present))
    const { attempt, begun: _, ...intent } = current.intent
    const again = { ...intent, attempt: isUnbegun ? attempt : attempt + 1, epoch: leases.epoch(info.rootID) }
    return Effect.zipRight(call.become({ ...current, intent: again }), tool.execute(call.input, present))
  })
}
