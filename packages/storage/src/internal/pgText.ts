/** Keeps the characters that PostgreSQL does not take: it has no U+0000 in a text, and no half characters. */

// JSON writes all of these as escapes by itself, so that only columns beside `data` ever have any. The mark is one of them.
const mark = "\u001a"
const untaken = new RegExp(`[\\u0000${mark}\\ud800-\\udfff]`, "u")
const eachUntaken = new RegExp(untaken.source, "gu")
const eachMarked = new RegExp(`${mark}([0-9a-f]{4})`, "g")

/** A text as it is stored. Different texts stay different, so that what is looked for is found. */
export const toStored = (text: string): string =>
  untaken.test(text)
    ? text.replace(eachUntaken, (one) => mark + one.charCodeAt(0).toString(16).padStart(4, "0"))
    : text

/** Whether a stored text is not what it was before. */
export const hasMark = (text: string): boolean => text.includes(mark)

/** A text as it was before it was stored. */
export const fromStored = (text: string): string =>
  text.replace(eachMarked, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
