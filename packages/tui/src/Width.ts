/** Knows how wide text is on a terminal, in columns. The text has been escaped: what is invisible is not in it. */

/** East Asian wide and full-width characters, and emoji. */
const wide =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1aff0}-\u{1b2ff}\u{1f004}\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f1e6}-\u{1f202}\u{1f210}-\u{1f265}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f7e0}-\u{1f7eb}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u

const combining = /\p{M}/u

const asciiOnly = /^[\x20-\x7e]*$/

/** Hangul vowels and final consonants stand in the columns of the letter before them. */
const joining = /[\u1160-\u11ff\ud7b0-\ud7ff]/

const widthOfCharacter = (character: string): number =>
  combining.test(character) || joining.test(character) ? 0 : wide.test(character) ? 2 : 1

/** How many columns a line takes. */
export const widthOf = (line: string): number => {
  if (asciiOnly.test(line)) return line.length
  let width = 0
  for (const character of line) width += widthOfCharacter(character)
  return width
}

/** A line that takes at most so many columns; where something was cut off, it ends in `…`. */
export const fit = (line: string, columns: number): string => {
  if (columns <= 0) return ""
  if (widthOf(line) <= columns) return line
  let width = 0
  let end = 0
  for (const character of line) {
    width += widthOfCharacter(character)
    if (width > columns - 1) break
    end += character.length
  }
  return `${line.slice(0, end)}…`
}

/** A line as the rows that it takes on a terminal of so many columns; nothing is left out. */
export const wrap = (line: string, columns: number): ReadonlyArray<string> => {
  const limit = Math.max(2, columns)
  if (asciiOnly.test(line) && line.length <= limit) return [line]
  const rows: Array<string> = []
  let start = 0
  let at = 0
  let width = 0
  for (const character of line) {
    const next = widthOfCharacter(character)
    if (width + next > limit) {
      rows.push(line.slice(start, at))
      start = at
      width = 0
    }
    width += next
    at += character.length
  }
  rows.push(line.slice(start))
  return rows
}
