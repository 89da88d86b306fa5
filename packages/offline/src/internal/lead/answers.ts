/** Reads what subagents return: results of task calls, and notifications. */

/** The answer of a subagent. */
export interface TaskAnswer {
  /** `completed`, another outcome, `background`, or `refused` if no subagent started. */
  readonly state: string
  /** Why it did not complete; empty if it did. */
  readonly reason: string
  /** Its conclusion, perhaps partial. */
  readonly text: string
}

const unescape = (text: string): string =>
  text.replace(/&lt;(?=\/?(task_result|task_error|task-notification|task_metadata))/gi, "<")

const block = (output: string, tag: string): string => {
  const begin = output.indexOf(`<${tag}>`)
  const end = output.indexOf(`</${tag}>`, begin)
  return begin < 0 || end < 0 ? "" : unescape(output.slice(begin + tag.length + 2, end)).trim()
}

/** Reads the result of a task call. */
export const readTask = (output: string, failed: boolean): TaskAnswer => {
  const head = output.slice(0, Math.max(0, output.search(/<task_(result|error)>/)))
  const state = /^state: (\S+)/m.exec(head)?.[1]
  const text = block(output, "task_result")
  if (output.startsWith("Background task accepted")) {
    return { state: "background", reason: "it was moved to the background and had not settled yet", text: "" }
  }
  if (!failed && state === undefined) {
    return text === "" && !output.includes("<task_result>")
      ? { state: "completed", reason: "", text: output.trim() }
      : { state: "completed", reason: "", text }
  }
  const reason = block(output, "task_error") ||
    (output.split("\n").find((line) => line.trim() !== "") ?? "no reason given")
  return { state: state ?? "refused", reason: reason.replace(/\s+/g, " "), text }
}

/** Whether a message is a notification of background tasks. */
export const isNotification = (text: string): boolean => text.startsWith("<task-notification")

/** Reads notifications of background tasks. */
export const readNotifications = (text: string): ReadonlyArray<TaskAnswer & { readonly label: string }> =>
  [...text.matchAll(/<task-notification\b[^>]*?status="([^"]*)"[^>]*>([^]*?)<\/task-notification>/g)].map((match) => {
    const [, state = "unknown", body = ""] = match
    const after = /^(?:Result|Partial result):\n([^]*?)(?:\n\nAnalyze this |$(?![^]))/m.exec(body)?.[1] ?? ""
    return {
      label: /^Task Description: (.*)$/m.exec(body)?.[1] ?? "background task",
      state,
      reason: /^Error: (.*)$/m.exec(body)?.[1] ?? "",
      text: unescape(after).trim()
    }
  })
