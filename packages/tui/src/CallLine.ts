/** Decides how to show a tool call in one line: `read path=src/a.ts limit=all`. */
import { lookup } from "@skein/domain/Lookup"
import { escapeLine } from "./Escape.ts"

/** The most that is shown of one argument, in characters. */
const longest = 60

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
  const head = escapeLine(text.slice(0, longest + 1))
  return text.length > longest ? `${head.slice(0, longest)}…` : head
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
