/** Escapes characters that PostgreSQL rejects: U+0000 and lone surrogates. */

// JSON escapes all of these, so only columns outside `data` may contain any. The escape mark is one of them.
const mark = "\u001a"
const untaken = new RegExp(`[\\u0000${mark}\\ud800-\\udfff]`, "u")
const eachUntaken = new RegExp(untaken.source, "gu")
const eachMarked = new RegExp(`${mark}([0-9a-f]{4})`, "g")

/** The stored form of a text. Different texts have different forms, so that lookups work. */
export const toStored = (text: string): string =>
  untaken.test(text)
    ? text.replace(eachUntaken, (one) => mark + one.charCodeAt(0).toString(16).padStart(4, "0"))
    : text

/** Whether a stored text differs from the original. */
export const hasMark = (text: string): boolean => text.includes(mark)

/** The original of a stored text. */
export const fromStored = (text: string): string =>
  text.replace(eachMarked, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
