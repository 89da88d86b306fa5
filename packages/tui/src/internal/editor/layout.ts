/** Lays an edited text out in rows, and knows where the cursor stands in them. */
import { escapeWords } from "../../Escape.ts"
import { widthOf } from "../../Width.ts"
import { graphemesOf } from "./graphemes.ts"

/** One row: what is shown of the text from `start` on, and the columns at which the places in it stand. */
interface InputRow {
  readonly shown: string
  /** Each place in this row, with its column; the last one is the end of the row. */
  readonly places: ReadonlyArray<{ readonly at: number; readonly column: number }>
}

/** Rows with a cursor. */
export interface InputLayout {
  readonly rows: ReadonlyArray<InputRow>
  readonly row: number
  readonly column: number
}

/** How a character is shown: what is folded as its label, what a terminal would obey or hide as what it is. */
const shownAs = (grapheme: string, labelOf: (character: string) => string | undefined): string =>
  labelOf(grapheme) ?? (grapheme === "\t" ? "  " : escapeWords(grapheme))

interface Growing {
  shown: string
  places: Array<{ readonly at: number; readonly column: number }>
  width: number
}

/** Lays it out in so many columns. */
export const layoutInput = (
  text: string,
  cursor: number,
  columns: number,
  labelOf: (character: string) => string | undefined = () => undefined
): InputLayout => {
  const limit = Math.max(4, columns)
  const rows: Array<InputRow> = []
  let at = 0
  for (const line of text.split("\n")) {
    let row: Growing = { shown: "", places: [], width: 0 }
    for (const grapheme of graphemesOf(line)) {
      const shown = shownAs(grapheme, labelOf)
      const width = widthOf(shown)
      if (row.width > 0 && row.width + width > limit) {
        rows.push(row)
        row = { shown: "", places: [], width: 0 }
      }
      row.places.push({ at, column: row.width })
      row.shown += shown
      row.width += width
      at += grapheme.length
    }
    row.places.push({ at, column: row.width })
    rows.push(row)
    at++
  }
  // The place between two rows of one line belongs to the second one.
  const found = rows.findIndex(({ places }) => places.some((place) => place.at === cursor))
  const row = Math.max(0, found)
  const column = rows[row]?.places.find((place) => place.at === cursor)?.column ?? 0
  return { rows, row, column }
}

/** The place in the row above (-1) or below (1) the cursor, nearest to a column; undefined where there is no such row. */
export const placeBeside = ({ row, rows }: InputLayout, step: -1 | 1, column: number): number | undefined => {
  const target = rows[row + step]
  if (target === undefined) return undefined
  return target.places.findLast((place) => place.column <= column)?.at ?? target.places[0]?.at
}
