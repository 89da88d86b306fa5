/** Decides how a model's reasoning looks: one line that says how long it was, or all of it. */
import type { ReasoningPart } from "@skein/domain/Part"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import { escapeLine, escapeWords } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { wrapRuns } from "../text/runs.ts"

/** The lines of reasoning that has ended, none wider than `columns`. */
export const thoughtLines = (
  { text, time }: ReasoningPart,
  columns: number,
  style: Style,
  isWhole: boolean
): ReadonlyArray<string> => {
  const took = time?.end === undefined ? 0 : time.end - time.start
  const head = `∴ thought for ${formatDuration(took)}, ${formatCount(text.length)} characters`
  const lines = text.trim().split("\n")
  if (!isWhole) return [style.dim(fit(`${head}: ${escapeLine((lines[0] ?? "").slice(0, 300))}`, columns))]
  return [
    style.dim(head),
    ...escapeWords(text.trim()).replaceAll("\t", "  ").split("\n").flatMap((line) =>
      wrapRuns([{ text: line, paint: style.dim }], columns, "  ", "  ")
    )
  ]
}
