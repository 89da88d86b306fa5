/** The crash points of a model's answer as it streams. */
import type * as Context from "effect/Context"
import type { Failpoints } from "../../Failpoints.ts"
import { isContent, type ModelEvent } from "../../Provider.ts"

/**
 * Returns a function to call for each event of an answer. A sign of life without content is a piece of a call's
 * arguments.
 */
export const pointsOf = ({ hit }: Context.Tag.Service<typeof Failpoints>): (event: ModelEvent) => void => {
  let hasBegun = false
  return (event) => {
    const { type } = event
    if (!isContent(event)) return
    if (!hasBegun) hit("first_chunk")
    hasBegun = true
    if (type === "text-delta") hit("mid_text")
    if (type === "activity") hit("mid_tool_args")
  }
}
