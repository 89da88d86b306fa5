/** Decides what becomes of a call that was begun by a process which is no more. */
import * as Effect from "effect/Effect"
import type { AnyTool, ToolContext, ToolError, ToolResult } from "../../Tool.ts"
import { refused } from "./checkCall.ts"

/** What is said of a call of which nobody knows what it did. */
export const lostResult =
  "The call was interrupted, outcome unknown: the process that ran it ended before the result was stored. Check what it did before you repeat it."

/** The result of such a call, where one can be had, or that it may be made again. */
export const recovered = (
  tool: AnyTool,
  input: unknown,
  context: ToolContext
): Effect.Effect<ToolResult | "again", ToolError> => {
  if (tool.recover !== undefined) return tool.recover(input, context)
  return tool.effect === "safe" ? Effect.succeed("again") : Effect.fail(refused("interrupted", lostResult))
}
