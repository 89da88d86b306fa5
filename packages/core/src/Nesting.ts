/** Bounds how deeply values from outside are nested: a walk over a value, `JSON.stringify` too, takes stack for each level. */

/** The most levels of objects and lists that a value may have to be stored, walked or written. */
export const deepest = 512

/** What stands in the place of a value that lies too deep. */
export const tooDeep = "[nested too deeply]"

const quote = 0x22
const backslash = 0x5c

/** Where the string ends that begins before this place; the end of the text where it does not. */
const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf("\"", from); at >= 0; at = text.indexOf("\"", at + 1)) {
    let before = at - 1
    while (before >= from && text.charCodeAt(before) === backslash) before--
    if ((at - before) % 2 === 1) return at
  }
  return text.length
}

/** Whether a text has more levels of `{` and `[` than that, were it JSON. */
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

/** Whether a value has more levels of objects and lists than that. A value that contains itself has. */
export const isNested = (value: unknown, most = deepest): boolean => {
  const open: Array<{ readonly value: object; readonly level: number }> = isTree(value) ? [{ value, level: 1 }] : []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.level > most) return true
    for (const each of Object.values(next.value)) if (isTree(each)) open.push({ value: each, level: next.level + 1 })
  }
  return false
}

const cutAt = (value: unknown, left: number): unknown => {
  if (!isTree(value)) return value
  if (left === 0) return tooDeep
  return Array.isArray(value)
    ? value.map((each) => cutAt(each, left - 1))
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutAt(each, left - 1)]))
}

/** The very same value where it is within the bound; else a copy in which `tooDeep` stands for what lies deeper. */
export const flattened = <A>(value: A): A => isNested(value) ? cutAt(value, deepest) as A : value
