/** Decides how to show a failed call: the first line of its error, or how its task ended and why. */
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import { escapeLine } from "./Escape.ts"

/** The most that is shown of a reason, in characters. */
const longest = 300

/** What a call reports whose task did not complete. */
const taskError = /^task_id: (ses_\w+)[^\n]*\nstate: (\w+)\n\n<task_error>\n([^]*?)\n<\/task_error>/

/** A call that failed. */
export interface Failure {
  /** Why, in one escaped line. */
  readonly reason: string
  /** The task that the call waited for, where it had begun. */
  readonly taskID?: SessionID
}

const firstLine = (text: string): string => {
  const [first = ""] = text.trimStart().split("\n", 1)
  return escapeLine(first.slice(0, longest))
}

/** Why a call failed; undefined for one that did not. */
export const failureOf = ({ state, tool }: ToolPart): Failure | undefined => {
  if (state.status !== "error") return undefined
  const { message } = state.error
  const [, taskID, outcome = "", why = ""] = tool === "task" ? taskError.exec(message) ?? [] : []
  return taskID === undefined
    ? { reason: firstLine(message) }
    : { reason: `${outcome.replaceAll("_", " ")}, ${firstLine(why)}`, taskID: taskID as SessionID }
}
