/** Decides how a question looks: a header that stays, what it is about in pages, the choices, and which keys there are. */
import { formatDuration } from "@skein/view/Numbers"
import { askText, visible } from "../../AskText.ts"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit, wrap } from "../../Width.ts"
import type { DialogState } from "./dialogQueue.ts"

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
  const { body, header } = askText(state.dialog, { columns: columns - 1, count: state.count, style, task })
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
