/** Draws a diff: its numbered lines, and the changed words of replaced lines. */
import { type DiffLine, diffLines } from "@skein/view/DiffLines"
import { visible } from "@skein/view/Visible"
import { diffWordsWithSpace } from "diff"
import type { ComponentChildren } from "preact"
import { useMemo, useState } from "preact/hooks"

/** How many lines are shown at first, and the maximum length of lines whose words are compared. */
const limits = { lines: 60, words: 400 }

const marks: Record<DiffLine["kind"], string> = { added: "+", removed: "−", same: " ", file: "", gap: "⋮" }

/** The words of a replaced line. Those that are not in the other line are marked. */
const wordsOf = (line: DiffLine, other: DiffLine): ComponentChildren => {
  if (line.text.length > limits.words || other.text.length > limits.words) return visible(line.text)
  const [before, after] = line.kind === "removed" ? [line.text, other.text] : [other.text, line.text]
  return diffWordsWithSpace(before, after)
    .filter(({ added, removed }) => line.kind === "removed" ? !added : !removed)
    .map(({ added, removed, value }, at) =>
      added || removed ? <mark key={at}>{visible(value)}</mark> : <span key={at}>{visible(value)}</span>
    )
}

/** The counterpart of a replaced line. Only equal numbers of removed and added lines are matched, in order. */
const partners = (lines: ReadonlyArray<DiffLine>): ReadonlyMap<DiffLine, DiffLine> => {
  const found = new Map<DiffLine, DiffLine>()
  for (let at = 0; at < lines.length; at++) {
    let added = at
    while (lines[added]?.kind === "removed") added++
    const count = added - at
    if (count === 0) continue
    const pairs = lines.slice(at, added).map((line, index) => [line, lines[added + index]] as const)
    if (pairs.every(([, other]) => other?.kind === "added") && lines[added + count]?.kind !== "added") {
      for (const [line, other] of pairs) if (other !== undefined) found.set(line, other).set(other, line)
    }
    at = added - 1
  }
  return found
}

/** A diff. */
export const Diff = ({ text }: { readonly text: string }) => {
  const [all, showAll] = useState(false)
  const lines = useMemo(() => diffLines(text), [text])
  const pairs = useMemo(() => partners(lines), [lines])
  const shown = all ? lines : lines.slice(0, limits.lines)
  return (
    <div class="diff" role="group" aria-label="Change">
      <table>
        <tbody>
          {shown.map((line, at) => {
            const other = pairs.get(line)
            return (
              <tr key={at} class={line.kind}>
                <td class="number">{line.before ?? ""}</td>
                <td class="number">{line.after ?? ""}</td>
                <td class="mark">{marks[line.kind]}</td>
                <td class="text">{other === undefined ? visible(line.text) : wordsOf(line, other)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {shown.length < lines.length && (
        <button type="button" class="quiet" onClick={() => showAll(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </div>
  )
}
