/** Decides how a question looks: a header that stays, what it is about in pages, the choices, and which keys there are. */
import type { PermissionRequest } from "@skein/domain/Event"
import { formatDuration } from "@skein/view/Numbers"
import type { Dialog } from "../../Dialog.ts"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit, wrap } from "../../Width.ts"
import type { DialogState } from "./dialogQueue.ts"

/** What is read of a question. */
interface DialogText {
  /** Who asks for what. */
  readonly header: ReadonlyArray<string>
  /** Exactly what it is about. */
  readonly body: ReadonlyArray<string>
}

/** Spaces that are not plain ones look like them, and so do plain ones at the end of a line. */
const visible = (line: string): string =>
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

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

/** What would happen, in the words of the call: a command as it is, else what rules see of it. */
export const subjectOf = ({ metadata: { command }, patterns, permission }: PermissionRequest): string =>
  /^bash(?:_|$)/.test(permission) && typeof command === "string" ? command : patterns.join("\n")

const reasonOf = ({ metadata: { reason, reasons } }: PermissionRequest): string => {
  if (typeof reason === "string" && reason !== "") return reason
  const several = Array.isArray(reasons) ? reasons.filter((each) => typeof each === "string") : []
  return several.length > 0 ? several.join(" ") : "No rule allows this."
}

const isShown = new Set(["reason", "reasons"])

/** The rest of what is known of the call; what stands there already is not said twice. */
const details = (request: PermissionRequest, subject: string, columns: number, style: Style): ReadonlyArray<string> =>
  Object.entries(request.metadata).flatMap(([key, value]) => {
    const text = value === undefined || isShown.has(key) ? "" : textOf(value)
    if (text === "" || text === subject || request.patterns.includes(text)) return []
    if (key === "diff") return [`    ${key}:`, ...marked(text, "    │ ", columns, paintDiff(style))]
    return text.includes("\n")
      ? [style.dim(`    ${visible(key)}:`), ...marked(text, "    │ ", columns).map(style.dim)]
      : marked(`${key}: ${text}`, "    ", columns).map(style.dim)
  })

const paintDiff = (style: Style) => (row: string, line: string): string =>
  line.startsWith("+") ? style.green(row) : line.startsWith("-") ? style.red(row) : row

const permissionText = (request: PermissionRequest, columns: number, style: Style): DialogText => {
  const subject = subjectOf(request)
  const rules = request.patterns.join("\n") === subject ? [] : request.patterns
  return {
    header: [
      ...marked(`why: ${reasonOf(request)}`, "  ", columns),
      ...(request.always.length === 0 ? ["  It is asked each time: no rule can allow it."] : [])
    ],
    body: [
      ...marked(subject, "  ▌ ", columns),
      ...rules.flatMap((pattern) => marked(`asked for: ${pattern}`, "    ", columns)).map(style.dim),
      ...details(request, subject, columns, style)
    ]
  }
}

/** The text; `task` is the name of the task that asks, `count` says how many questions wait. */
const dialogText = (
  dialog: Dialog,
  { columns, count, style, task }: {
    readonly columns: number
    readonly count: number
    readonly style: Style
    readonly task: string | undefined
  }
): DialogText => {
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

/** A question as it is drawn. */
interface DialogView {
  readonly lines: ReadonlyArray<string>
  /** The page that is shown; undefined where the terminal is too small for the question, which must not be answered then. */
  readonly page: number | undefined
}

/** How much room there is, how it looks, and the name of the task that asks. */
interface DialogFrame {
  readonly columns: number
  readonly rows: number
  readonly style: Style
  readonly task: string | undefined
}

/** The least that is shown of what a question is about, in rows. */
const least = 3

const choiceRows = ({ choices, selected }: DialogState, columns: number, style: Style): ReadonlyArray<string> =>
  choices.flatMap(({ label }, at) => {
    const mark = `${at === selected ? "❯" : " "} ${at < 9 ? at + 1 : " "} `
    const rows = wrap(visible(label), columns - mark.length).map((row, i) => (i === 0 ? mark : "    ") + row)
    return at === selected ? rows.map((row) => style.bold(style.cyan(row))) : rows
  })

const wordRows = ({ dialog }: DialogState, words: string, columns: number, style: Style): ReadonlyArray<string> => {
  const label = dialog.kind === "permission" ? "because: " : "answer: "
  return wrap(`${label}${escapeLine(words)}▏`, columns - 2).slice(-least).map((row) => style.bold(`  ${row}`))
}

const hint = ({ choices, dialog, ignoresKeysFor, isHeld, selected, words }: DialogState): string => {
  if (isHeld) return "The input holds text: Tab goes to the question, and back"
  if (words !== undefined) {
    const empty = words.trim() === "" && dialog.kind === "permission" ? " (without words it is a plain no)" : ""
    return `Enter sends it${empty}, Esc goes back`
  }
  if (ignoresKeysFor > 0) return `Keys do not count yet: type nothing for ${formatDuration(ignoresKeysFor)}`
  const marks = selected === undefined
    ? choices.some(({ act }) => act.type === "mark")
    : choices[selected]?.act.type === "mark"
  return `↑ ↓ or 1-${Math.min(9, choices.length)} selects, Enter ${marks ? "marks" : "confirms"}`
}

/** The question in at most `rows` lines. */
export const dialogLines = (state: DialogState, { columns, rows, style, task }: DialogFrame): DialogView => {
  const { body, header } = dialogText(state.dialog, { columns: columns - 1, count: state.count, style, task })
  const { words } = state
  const below = words === undefined
    ? choiceRows(state, columns - 1, style)
    : wordRows(state, words, columns - 1, style)
  const room = rows - header.length - below.length - 1
  if (room < Math.min(least, body.length)) {
    return {
      lines: [style.bold(style.yellow(fit("? A question waits. Make the terminal larger to read it.", columns - 1)))],
      page: undefined
    }
  }
  const isWhole = body.length <= room
  const height = isWhole ? room : Math.max(1, room - 1)
  const page = Math.min(state.page, Math.ceil(body.length / height) - 1)
  const first = Math.max(0, Math.min(page * height, body.length - height))
  const shown = body.slice(first, first + height)
  const place = isWhole ? [] : [
    style.dim(fit(`  lines ${first + 1}-${first + shown.length} of ${body.length}, PgUp and PgDn scroll`, columns - 1))
  ]
  return {
    lines: [...header, ...shown, ...place, ...below, style.dim(fit(`  ${hint(state)}`, columns - 1))],
    page: Math.max(0, page)
  }
}
