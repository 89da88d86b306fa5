/** Decides how a question that waits reads: who asks for what, and exactly what it is about. */
import type { PermissionRequest } from "@skein/domain/Event"
import { detailsOf, reasonOf, subjectOf } from "@skein/view/AskFacts"
import type { Dialog } from "./Dialog.ts"
import { escapeLine } from "./Escape.ts"
import type { Style } from "./Style.ts"
import { wrap } from "./Width.ts"

/** What is read of a question. */
export interface AskText {
  /** Who asks for what. */
  readonly header: ReadonlyArray<string>
  /** Exactly what it is about. */
  readonly body: ReadonlyArray<string>
}

/** Spaces that are not plain ones look like them, and so do plain ones at the end of a line. */
export const visible = (line: string): string =>
  escapeLine(line)
    .replace(/[^\P{Zs} ]/gu, (space) => `\\u${(space.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`)
    .replace(/ +$/, (spaces) => "\\x20".repeat(spaces.length))

/** Lines behind a mark, each as the rows that it takes. */
const marked = (
  text: string,
  mark: string,
  columns: number,
  paint: (row: string, line: string) => string = (row) => row
): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => wrap(visible(line), columns - mark.length).map((row) => mark + paint(row, line)))

const paintDiff = (style: Style) => (row: string, line: string): string =>
  line.startsWith("+") ? style.green(row) : line.startsWith("-") ? style.red(row) : row

const details = (request: PermissionRequest, columns: number, style: Style): ReadonlyArray<string> =>
  detailsOf(request).flatMap(([key, text]) => {
    if (key === "diff") return [`    ${key}:`, ...marked(text, "    │ ", columns, paintDiff(style))]
    return text.includes("\n")
      ? [style.dim(`    ${visible(key)}:`), ...marked(text, "    │ ", columns).map(style.dim)]
      : marked(`${key}: ${text}`, "    ", columns).map(style.dim)
  })

const permissionText = (request: PermissionRequest, columns: number, style: Style): AskText => {
  const subject = subjectOf(request)
  const rules = request.patterns.join("\n") === subject ? [] : request.patterns
  return {
    header: [
      ...marked(`why: ${reasonOf(request) ?? "No rule allows this."}`, "  ", columns),
      ...(request.always.length === 0 ? ["  It is asked each time: no rule can allow it."] : [])
    ],
    body: [
      ...marked(subject, "  ▌ ", columns),
      ...rules.flatMap((pattern) => marked(`asked for: ${pattern}`, "    ", columns)).map(style.dim),
      ...details(request, columns, style)
    ]
  }
}

/** The text; `task` is the name of the task that asks, `count` says how many questions wait. */
export const askText = (
  dialog: Dialog,
  { columns, count, style, task }: {
    readonly columns: number
    readonly count: number
    readonly style: Style
    readonly task: string | undefined
  }
): AskText => {
  const { request } = dialog
  const what = dialog.kind === "permission" ? `asks for permission: ${visible(dialog.request.permission)}` : "asks:"
  const title = `? ${request.path.map(visible).join(" > ")} ${what}${count === 1 ? "" : ` (1 of ${count} questions)`}`
  const { body, header } = dialog.kind === "permission"
    ? permissionText(dialog.request, columns, style)
    : { header: [], body: marked(dialog.request.question, "  ", columns) }
  return {
    header: [
      ...wrap(title, columns).map((row) => style.bold(style.yellow(row))),
      ...(task === undefined ? [] : marked(`task: ${task}`, "  ", columns)),
      ...header
    ],
    body
  }
}
