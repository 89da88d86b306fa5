/** Joins the keys of one read: typed text is one text, and a paste that the terminal did not mark is a paste. */
import { isKey, type Key } from "../../Key.ts"

/** The most characters that somebody types within one read. */
const mostTyped = 8

/** A line break in the middle of much text was pasted, in a terminal that does not mark it: it sends nothing. */
export const joinKeys = (keys: ReadonlyArray<Key>): ReadonlyArray<Key> => {
  const typed = keys.filter(({ type }) => type === "text").length
  const isPasted = typed > mostTyped &&
    keys.slice(0, -1).some((key) => isKey(key, "enter")) &&
    keys.every((key) => key.type === "text" || isKey(key, "enter") || isKey(key, "tab"))
  if (isPasted) {
    const text = keys.map((key) => key.type === "text" ? key.text : isKey(key, "tab") ? "\t" : "\n").join("")
    return [{ type: "paste", text }]
  }
  const found: Array<Key> = []
  for (const key of keys) {
    const last = found.at(-1)
    if (key.type === "text" && last?.type === "text") {
      found[found.length - 1] = { type: "text", text: last.text + key.text }
    } else found.push(key)
  }
  return found
}
