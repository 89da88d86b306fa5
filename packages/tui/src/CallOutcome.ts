/** Decides how to sum up a call in one line: its subject and its result. */
import { lookup } from "@skein/domain/Lookup"
import type { ToolCompleted, ToolPart } from "@skein/domain/Part"
import { formatDuration } from "@skein/view/Numbers"
import { failureOf } from "./CallFailure.ts"
import { callLine } from "./CallLine.ts"
import { escapeLine } from "./Escape.ts"

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
