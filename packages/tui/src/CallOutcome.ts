/** Decides how to show a call in one line: its arguments, its subject and its result, or how it failed. */
import type { SessionID } from "@skein/domain/Id"
import { lookup } from "@skein/domain/Lookup"
import type { ToolCompleted, ToolPart } from "@skein/domain/Part"
import { formatDuration } from "@skein/view/Numbers"
import { escapeLine } from "./Escape.ts"

/** The most that is shown of a reason, in characters. */
const longestReason = 300

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
  return escapeLine(first.slice(0, longestReason))
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

/** The most that is shown of one argument, in characters. */
const longestArgument = 60

/** Arguments that are not what a call is about, or too long to be read in passing. */
const left = lookup<ReadonlySet<string>>({
  task: new Set(["prompt"]),
  write: new Set(["content"]),
  edit: new Set(["oldString", "newString"]),
  patch: new Set(["patchText"])
})

const shown = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? String(value)
  // What is cut away need not be looked at: an argument may have megabytes.
  const head = escapeLine(text.slice(0, longestArgument + 1))
  return text.length > longestArgument ? `${head.slice(0, longestArgument)}…` : head
}

const entriesOf = (tool: string, input: object): ReadonlyArray<readonly [key: string, value: unknown]> => {
  const entries = Object.entries(input)
    .filter(([key, value]) => value !== undefined && left[tool]?.has(key) !== true)
    .map(([key, value]) => [key === "filePath" ? "path" : key, value] as const)
  return tool === "read" && !("limit" in input) ? [...entries, ["limit", "all"]] : entries
}

/** A call in one line, escaped. */
export const callLine = (tool: string, input: unknown): string => {
  const args = typeof input === "object" && input !== null ? entriesOf(tool, input) : []
  return [escapeLine(tool), ...args.map(([key, value]) => `${escapeLine(key)}=${shown(value)}`)].join(" ")
}

/** The most that is shown of a subject, in characters. */
const longest = 200

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** The argument of each tool that it is about; a second one says where. */
const subjects = lookup<readonly [what: string, where?: string]>({
  read: ["filePath"],
  write: ["filePath"],
  edit: ["filePath"],
  list: ["path"],
  glob: ["pattern", "path"],
  grep: ["pattern", "path"],
  bash: ["command"],
  webfetch: ["url"],
  skill: ["name"],
  question: ["question"],
  task: ["description"]
})

/** What a call is about: a file, a command, a pattern. */
export const subjectOf = ({ state, tool }: ToolPart): string => {
  const input = isRecord(state.input) ? state.input : {}
  const [what = "", where = ""] = subjects[tool] ?? []
  const subject = textOf(input[what])
  if (subject === undefined) {
    // Their result already names their subject.
    if (tool === "todowrite" || tool === "todoread") return ""
    const title = state.status === "completed" ? textOf(state.title) : undefined
    if (title !== undefined) return escapeLine(title.slice(0, longest))
    return callLine(tool, state.input).slice(escapeLine(tool).length + 1).slice(0, longest)
  }
  const [first = "", ...more] = subject.trim().split("\n")
  const place = textOf(input[where])
  return escapeLine(first.slice(0, longest)) + (more.length > 0 ? " …" : "") +
    (place === undefined ? "" : ` in ${escapeLine(place.slice(0, longest))}`)
}

const numberOf = (value: unknown): number | undefined => typeof value === "number" ? value : undefined

const changed = ({ added, done, removed }: Readonly<Record<string, unknown>>): string => {
  const [plus, minus] = [numberOf(added), numberOf(removed)]
  const figures = plus === undefined || minus === undefined ? "" : `+${plus} -${minus}`
  const word = textOf(done)
  return [...(word === undefined ? [] : [word]), ...(figures === "" ? [] : [figures])].join(", ") || "done"
}

const ofCompleted = (tool: string, { metadata, output, title }: ToolCompleted): string => {
  const { count, cut, exit, first, last, status, total } = metadata
  switch (tool) {
    case "read": {
      const [from, to, all] = [numberOf(first), numberOf(last), numberOf(total)]
      if (from === undefined || to === undefined || all === undefined) {
        return all === undefined ? "read" : counted(all, "entry", "entries")
      }
      return from === 1 && to >= all ? counted(all, "line") : `lines ${from}-${to} of ${all}`
    }
    case "list":
      return counted(numberOf(count) ?? 0, "entry", "entries")
    case "glob":
      return counted(numberOf(count) ?? 0, "file")
    case "grep":
      return `${counted(numberOf(count) ?? 0, "result")}${cut === true ? ", and more" : ""}`
    case "bash":
      return `exit code ${numberOf(exit) ?? "unknown"}`
    case "edit":
    case "write":
    case "patch":
      return changed(metadata)
    case "webfetch":
      return numberOf(status) === undefined ? "fetched" : `status ${numberOf(status)}`
    case "task":
      return textOf(metadata["status"]) === "accepted" ? "continues in the background" : "completed"
    case "todowrite":
    case "todoread":
      return escapeLine(title)
    default:
      return counted(output === "" ? 0 : output.trimEnd().split("\n").length, "line")
  }
}

/** The result of a call, and whether it is a success. */
export const outcomeOf = (part: ToolPart): { readonly text: string; readonly isGood: boolean } => {
  const { state, tool } = part
  if (state.status === "error") return { text: failureOf(part)?.reason ?? "", isGood: false }
  if (state.status !== "completed") return { text: state.status, isGood: true }
  const took = state.time.end - state.time.start
  const time = took < 1_000 ? "" : `, ${formatDuration(took)}`
  const { exit } = state.metadata
  return { text: `${ofCompleted(tool, state)}${time}`, isGood: tool !== "bash" || exit === 0 }
}
