/** Finds the changes of files that a call makes, as the text before and after. */
import type { Diff, ToolCallContent } from "@agentclientprotocol/sdk/unstable"
import type { ToolState } from "@skein/domain/Part"
import { diffLines } from "@skein/view/DiffLines"
import { isAbsolute, resolve } from "node:path"

const absolute = (directory: string, path: string): string => isAbsolute(path) ? path : resolve(directory, path)

/** The places that a diff changes, each file with the lines before and after. */
const filesOf = (diff: string, path: string | undefined, directory: string): Array<Diff> => {
  const files: Array<{ path: string; before: Array<string>; after: Array<string> }> = []
  if (path !== undefined) files.push({ path: absolute(directory, path), before: [], after: [] })
  for (const { kind, text } of diffLines(diff)) {
    if (kind === "file") files.push({ path: absolute(directory, text), before: [], after: [] })
    const file = files.at(-1)
    if (file === undefined || kind === "file" || kind === "gap") continue
    if (kind !== "added") file.before.push(text)
    if (kind !== "removed") file.after.push(text)
  }
  return files.filter(({ after, before }) => after.length + before.length > 0).map(({ after, before, path: name }) => ({
    path: name,
    oldText: before.length === 0 ? null : before.join("\n"),
    newText: after.join("\n")
  }))
}

const text = (value: unknown, key: string): string | undefined => {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined
  return typeof found === "string" ? found : undefined
}

/** What an edit that has not been made yet would change. */
const wanted = (tool: string, input: unknown, directory: string): Array<Diff> => {
  const path = text(input, "filePath")
  const newText = text(input, tool === "edit" ? "newString" : "content")
  if (path === undefined || newText === undefined) return []
  return [{
    path: absolute(directory, path),
    oldText: tool === "edit" ? text(input, "oldString") ?? null : null,
    newText
  }]
}

/** The changes in a request for permission, which shows them as lines. */
export const diffInRequest = (
  metadata: Readonly<Record<string, unknown>>,
  directory: string
): Array<ToolCallContent> => {
  const diff = text(metadata, "diff")
  return diff === undefined
    ? []
    : filesOf(diff, text(metadata, "filePath"), directory).map((each) => ({ type: "diff", ...each }))
}

/** The changes of a call; none where it changes nothing. */
export const diffOf = (tool: string, state: ToolState, directory: string): Array<ToolCallContent> => {
  if (tool !== "edit" && tool !== "write" && tool !== "patch") return []
  if (state.status === "pending" || state.status === "error") return []
  const diff = state.status === "completed" ? text(state.metadata, "diff") : undefined
  const isCut = diff?.endsWith("… (more is not shown)") === true
  const files = diff === undefined || isCut
    ? tool === "patch" ? [] : wanted(tool, state.input, directory)
    : filesOf(diff, text(state.metadata, "filePath"), directory)
  return files.map((each) => ({ type: "diff", ...each }))
}
