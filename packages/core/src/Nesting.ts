/**
 * Limits how deeply values from outside are nested, because walking or serialising a value takes stack for each level.
 */

/** The maximum depth of a value that is stored, walked or serialised. */
export const deepest = 512

/** Replaces a value that is nested too deeply. */
export const tooDeep = "[nested too deeply]"

const quote = 0x22
const backslash = 0x5c

/** The end of the string that begins before this place; the end of the text if it is not closed. */
const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf("\"", from); at >= 0; at = text.indexOf("\"", at + 1)) {
    let before = at - 1
    while (before >= from && text.charCodeAt(before) === backslash) before--
    if ((at - before) % 2 === 1) return at
  }
  return text.length
}

/** Whether a text has more levels of `{` and `[` than that, read as JSON. */
export const isTextNested = (text: string, most = deepest): boolean => {
  if (text.length <= most) return false
  let level = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at + 1)
    // The codes of [ and {, of ] and }.
    else if (code === 0x5b || code === 0x7b) {
      level++
      if (level > most) return true
    } else if (code === 0x5d || code === 0x7d) level--
  }
  return false
}

const isTree = (value: unknown): value is object => typeof value === "object" && value !== null

/** Whether a value has more levels of objects and lists than that. A cyclic value has. */
export const isNested = (value: unknown, most = deepest): boolean =>
  isTree(value) && (most === 0 || Object.values(value).some((each) => isNested(each, most - 1)))

const cutAt = (value: unknown, left: number): unknown => {
  if (!isTree(value)) return value
  if (left === 0) return tooDeep
  return Array.isArray(value)
    ? value.map((each) => cutAt(each, left - 1))
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutAt(each, left - 1)]))
}

/** The same value if it is within the limit, else a copy with `tooDeep` in place of what is deeper. */
export const flattened = <A>(value: A): A => isNested(value) ? cutAt(value, deepest) as A : value
