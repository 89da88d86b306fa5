/** Decides what wildcards match. One algorithm serves the characters of a text and the names of a path. */

/**
 * Whether signs match items one by one. The sign `many` stands for any run of items, even an empty one; `fits` decides
 * for all other signs. Uses constant space, and calls `fits` at most `signs.length * items.length` times.
 */
export const walk = <Many, One, Item>(
  signs: ArrayLike<Many | One>,
  items: ArrayLike<Item>,
  many: Many,
  fits: (sign: One, item: Item) => boolean
): boolean => {
  let sign = 0
  let item = 0
  // Only the last run is ever extended: extending an earlier one could not match more signs.
  let afterRun = -1
  let runEnd = 0
  while (item < items.length) {
    if (sign < signs.length && signs[sign] === many) {
      afterRun = ++sign
      runEnd = item
      if (sign === signs.length) return true
    } else if (sign < signs.length && fits(signs[sign] as One, items[item] as Item)) {
      sign++
      item++
    } else if (afterRun >= 0) {
      sign = afterRun
      item = ++runEnd
    } else return false
  }
  while (signs[sign] === many) sign++
  return sign === signs.length
}

/** Whether a pattern matches a text: `*` is any run of characters, `?` is any one, both include `/` and line breaks. */
export const glob = (pattern: string, text: string): boolean =>
  walk(pattern, text, "*", (sign: string, character) => sign === "?" || sign === character)

/** Compiles one pattern for many texts: the beginning and end of a text nearly always decide. */
export const globOf = (pattern: string): (text: string) => boolean => {
  const [first = "", ...pieces] = pattern.split("*")
  if (pattern.includes("?")) {
    const beginning = first.split("?", 1).join("")
    return (text) => text.startsWith(beginning) && glob(pattern, text)
  }
  const last = pieces.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let at = first.length
    for (const piece of pieces) {
      const found = text.indexOf(piece, at)
      if (found < 0) return false
      at = found + piece.length
    }
    return at <= end
  }
}
