/** Finds the places in a text where a cursor can stand: before and behind what people see as one character. */

/** Text in which each unit is a character; a line break is one as well. */
const simple = /^[\n\x20-\x7e]*$/

let segmenter: Intl.Segmenter | undefined

/** What people see as single characters, in order. */
export const graphemesOf = (text: string): ReadonlyArray<string> => {
  if (simple.test(text)) return [...text]
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Where the line around a place begins and ends, without its break. */
export const lineAround = (text: string, at: number): { readonly start: number; readonly end: number } => {
  const end = text.indexOf("\n", at)
  return { start: text.lastIndexOf("\n", at - 1) + 1, end: end < 0 ? text.length : end }
}

/** The nearest place before `at`; 0 at the beginning. */
export const before = (text: string, at: number): number => {
  if (at <= 0) return 0
  const { start } = lineAround(text, at)
  if (start === at) return at - 1
  return at - (graphemesOf(text.slice(start, at)).at(-1)?.length ?? 1)
}

/** The nearest place behind `at`; the length of the text at its end. */
export const behind = (text: string, at: number): number => {
  if (at >= text.length) return text.length
  const { end } = lineAround(text, at)
  if (end === at) return at + 1
  return at + (graphemesOf(text.slice(at, Math.min(end, at + 64)))[0]?.length ?? 1)
}

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(character)

/** The beginning of the word before `at`. */
export const wordBefore = (text: string, at: number): number => {
  const characters = [...text.slice(0, at)]
  let place = at
  while (characters.length > 0 && !isWord(characters.at(-1))) place -= characters.pop()?.length ?? 0
  while (isWord(characters.at(-1))) place -= characters.pop()?.length ?? 0
  return place
}

/** The end of the word behind `at`. */
export const wordBehind = (text: string, at: number): number => {
  const [skipped = ""] = /^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(at)) ?? []
  return at + skipped.length
}
