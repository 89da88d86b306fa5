/** Decides how a question of an agent looks, and what is shown while it is answered. */
import type { QuestionRequest } from "@skein/domain/Event"
import { escapeLine } from "../escape.ts"
import type { Style } from "../terminal/style.ts"
import { wrap } from "../terminal/width.ts"

const block = (text: string, first: string, columns: number): ReadonlyArray<string> => {
  const indent = " ".repeat(first.length)
  return text.split("\n")
    .flatMap((line) => wrap(escapeLine(line), columns - first.length))
    .map((row, at) => (at === 0 ? first : indent) + row)
}

/** The question, to be printed for good. */
export const questionLines = (
  { options, path, question }: QuestionRequest,
  columns: number,
  style: Style
): ReadonlyArray<string> => [
  style.bold(style.yellow(`? ${path.map(escapeLine).join(" > ")} asks:`)),
  ...block(question, "  ", columns),
  ...options.flatMap(({ description, label }, at) =>
    block(description === undefined ? label : `${label}: ${description}`, `  ${at + 1} `, columns)
  )
]

/** What can be pressed, and what is written or chosen so far. */
export const answerLine = (
  { multiple, options }: QuestionRequest,
  state: { readonly text: string; readonly chosen: ReadonlyArray<string>; readonly others: number },
  columns: number
): string => {
  const { chosen, others, text } = state
  if (text !== "") {
    return `answer: ${wrap(escapeLine(text), columns - 40).at(-1) ?? ""}▏ (Enter sends, Esc clears)`
  }
  return [
    ...(chosen.length === 0 ? [] : [`chosen: ${chosen.map(escapeLine).join(", ")}`, "[Enter] send"]),
    ...(options.length === 0 ? [] : [`[1-${options.length}] ${multiple ? "choose, several" : "choose"}`]),
    "or write an answer",
    "[Esc] no answer",
    ...(others === 0 ? [] : [`(${others} more ${others === 1 ? "question waits" : "questions wait"})`])
  ].join("  ")
}
