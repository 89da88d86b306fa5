/** Defines times as text: `500ms`, `90s`, `30m`, `1.5h`. */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** The longest time that fits into a timer, in milliseconds: almost 25 days. */
export const longestTime = 2 ** 31 - 1

/** Returns the milliseconds; undefined if the text is not a time above zero, has no unit, or exceeds `longestTime`. */
export const parseTime = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? []
  const milliseconds = Math.round(Number(digits) * (units[unit] ?? Number.NaN))
  return milliseconds >= 1 && milliseconds <= longestTime ? milliseconds : undefined
}
