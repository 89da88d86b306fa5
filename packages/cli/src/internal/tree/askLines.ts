/** Decides how a question for permission looks: who asks, exactly what would happen, and what an answer would store. */
import type { PermissionRequest } from "@skein/domain/Event"
import { escapeLine } from "../escape.ts"
import type { Style } from "../terminal/style.ts"
import { wrap } from "../terminal/width.ts"

/** Spaces that are not plain ones look like them, and so do plain ones at the end of a line. */
const visible = (line: string): string =>
  escapeLine(line)
    .replace(/[^\P{Zs} ]/gu, (space) => `\\u${(space.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`)
    .replace(/ +$/, (spaces) => "\\x20".repeat(spaces.length))

const block = (text: string, mark: string, columns: number): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => wrap(visible(line), columns - mark.length)).map((row) => mark + row)

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

/** What is said of the call besides what it needs permission for; what stands in the patterns is not said twice. */
const details = (request: PermissionRequest, columns: number): ReadonlyArray<string> =>
  Object.entries(request.metadata).flatMap(([key, value]) => {
    const text = value === undefined ? "" : textOf(value)
    if (text === "" || request.patterns.includes(text)) return []
    return text.includes("\n")
      ? [`    ${visible(key)}:`, ...block(text, "    │ ", columns)]
      : block(`${key}: ${text}`, "    ", columns)
  })

/** The question, to be printed for good: all of it is there to be read, whatever the size of the terminal. */
export const askLines = (request: PermissionRequest, columns: number, style: Style): ReadonlyArray<string> => [
  style.bold(
    style.yellow(`? ${request.path.map(visible).join(" > ")} asks for permission: ${visible(request.permission)}`)
  ),
  ...request.patterns.flatMap((pattern) => block(pattern, "  ▌ ", columns)),
  ...details(request, columns).map(style.dim),
  ...(request.always.length === 0
    ? [style.dim("  It is asked each time.")]
    : request.always.flatMap((pattern) => block(`always would allow: ${request.permission} ${pattern}`, "  ", columns))
      .map(style.dim))
]

/** The keys that answer it. */
export const keysLine = (request: PermissionRequest, others: number): string =>
  [
    "[y] once",
    ...(request.always.length === 0 ? [] : ["[a] always in this session", "[p] always in this project"]),
    "[n] no",
    "[m] no, and say why",
    ...(others === 0 ? [] : [`(${others} more ${others === 1 ? "question waits" : "questions wait"})`])
  ].join("  ")
