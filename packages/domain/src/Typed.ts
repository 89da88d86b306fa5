/**
 * Decides which times, ages and titles people may type. It imports nothing: each start of the program reads its command line
 * before it loads anything else.
 */
const hour = 3_600_000
const times: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: hour }
const ages: Readonly<Record<string, number>> = { h: hour, d: 24 * hour, w: 7 * 24 * hour }

/** The longest time that fits into a timer, in milliseconds: almost 25 days. */
export const longestTime = 2 ** 31 - 1

/** The longest age: about 100 years. */
export const longestAge = 36_600 * 24 * hour

/** Returns the milliseconds; undefined if the text is not a time above zero, has no unit, or exceeds `longestTime`. */
export const parseTime = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? []
  const milliseconds = Math.round(Number(digits) * (times[unit] ?? Number.NaN))
  return milliseconds >= 1 && milliseconds <= longestTime ? milliseconds : undefined
}

/** Reads `36h`, `90d` or `12w`; returns milliseconds, or undefined if it is no age. */
export const parseAge = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text.trim()) ?? []
  const milliseconds = Number(digits) * (ages[unit] ?? Number.NaN)
  return milliseconds > 0 && milliseconds <= longestAge ? milliseconds : undefined
}

/** How many characters a title has at most that a person gives. */
export const longestTitle = 500

/** A title as lists show it: those that other programs store may be of any length. */
export const listedTitle = (title: string): string =>
  title.length > longestTitle ? `${title.slice(0, longestTitle - 1).toWellFormed()}…` : title
