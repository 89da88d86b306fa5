/** The texts about tasks that models read; callers rely on their exact form. */
import type { SessionID } from "@skein/domain/Id"
import { type Outcome, reason, type TaskRun, worktreeText } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import type { Workspace } from "../../Isolation.ts"
import { bound, cut } from "../../Spill.ts"
import type { TaskStatus } from "../../TaskRequest.ts"

/** Tags with a meaning in a result; inside a text they must be inert. */
const markers = /<(?=\/?(?:task_result|task_error|task-notification|task_metadata)\b)/gi

/** A text with all such tags made inert. */
const inert = (text: string): string => text.replaceAll(markers, "&lt;")

/** The part of the limit for the lines around a text. */
const margin = { bytes: 2_048, lines: 16 } as const

const block = (tag: string, text: string) => `<${tag}>\n${text}\n</${tag}>`

/** The conclusion, and where an isolated task left its work. */
const whole = ({ text, worktree }: Outcome): string =>
  worktree === undefined
    ? text
    : [text, `${worktreeText(worktree)}\n${worktree.diffStat}`].filter((part) => part !== "").join("\n\n")

/** The text of an outcome, safe for a block: inert, and truncated if it is too long. */
const textOf = (reader: SessionID, outcome: Outcome) =>
  cut(reader, `${outcome.runID}.txt`, inert(whole(outcome)), {
    bytes: bound.bytes - margin.bytes,
    lines: bound.lines - margin.lines
  })

const resumable = ({ isDeleted, taskID }: Outcome) =>
  isDeleted === true
    ? `task_id: ${taskID} (deleted, as cleanup asked: it cannot be resumed)`
    : `task_id: ${taskID} (for resuming to continue this task if needed)`

/** The result of a call that waited for the outcome. */
export const outcomeText = (reader: SessionID, outcome: Outcome) =>
  Effect.map(textOf(reader, outcome), (text) =>
    outcome.status === "completed"
      ? `${resumable(outcome)}\n\n${block("task_result", text)}`
      : [
        `${resumable(outcome)}\nstate: ${outcome.status}`,
        block("task_error", inert(reason(outcome))),
        ...(text === "" ? [] : [block("task_result", text)])
      ].join("\n\n"))

/** The result of a call whose task continues in the background. */
export const acceptedText = (
  { agent, description, taskID }: Pick<TaskRun, "agent" | "description" | "taskID">
): string =>
  `Background task accepted: ${inert(description)}

A sub-agent session (${taskID}) has been created and is running in the background. You will be notified when the task completes.

Session ID: ${taskID}
SubAgent Type: ${agent}

<task_metadata>
session_id: ${taskID}
status: accepted
</task_metadata>`

const completed = (run: TaskRun, outcome: Outcome, text: string): string =>
  `A background task has completed.

Task Description: ${inert(run.description)}
SubAgent Type: ${run.agent}
Execution Time: ${outcome.durationMs}ms

Result:
${text}

Analyze this result and decide how to proceed:
1. If the task is complete, summarize the results for the user
2. If there are errors, consider how to handle them
3. If more work is needed, continue with the next steps`

const failed = (run: TaskRun, outcome: Outcome, text: string): string =>
  `A background task has failed.

Task Description: ${inert(run.description)}
Error: ${inert(reason(outcome))}
${text === "" ? "" : `\nPartial result:\n${text}\n`}
Analyze this failure and decide how to proceed:
1. If the error is recoverable, consider retrying or using a different approach
2. If not, inform the user about the failure and potential next steps`

/** The notification of a settled background task. */
export const notificationText = (run: TaskRun, outcome: Outcome) =>
  Effect.map(textOf(run.parentID, outcome), (text) => {
    const attributes = `task_id="${outcome.taskID}" run_id="${outcome.runID}" status="${outcome.status}"`
    const render = outcome.status === "completed" ? completed : failed
    return `<task-notification ${attributes}>\n${render(run, outcome, text)}\n</task-notification>`
  })

/** For a subagent that is isolated from its caller. */
export const workspaceText = ({ branch, directory, omits }: Workspace): string =>
  [
    `You are isolated from your caller: you work in the git worktree ${directory}, on the branch ${branch}. Commit what you want to hand over.`,
    ...omits.map((sentence) => `${sentence}.`)
  ].join(" ")

/** For a subagent that must conclude. */
export const concludeText = (why: string | undefined): string =>
  `You are asked to stop${
    why === undefined ? "" : `: ${why}`
  }. No more tools are available. Conclude now, in text: what you found and did, and what remains to be done.`

/** For a subagent whose last attempt failed. */
export const retryText = (why: string): string =>
  `The last attempt at this task failed: ${why}\nYour work until then is above. Continue from there, and finish the task.`

/** The status of a task, as lines. */
export const statusText = (status: TaskStatus): string =>
  [
    `task_id: ${status.taskID}`,
    `task: ${inert(status.description)} (${status.agent}${status.background ? ", in the background" : ""})`,
    `state: ${status.state}, ${inert(status.doing)}`,
    `elapsed: ${status.elapsedMs} ms, ${status.usage.steps} steps, ${status.usage.toolCalls} calls${
      status.lastTool === undefined ? "" : `, the last of ${status.lastTool}`
    }`
  ].join("\n")
