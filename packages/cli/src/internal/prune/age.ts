/** Decides how an age is written on the command line. */

const day = 86_400_000

/** Less than this may be a session that somebody is at work on. */
const least = day

const units: Readonly<Record<string, number>> = { h: day / 24, d: day, w: 7 * day }

/** Reads `36h`, `90d` or `12w`; gives milliseconds, or undefined where it is none, or less than a day. */
export const parseAge = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text.trim()) ?? []
  const milliseconds = Number(digits) * (units[unit] ?? Number.NaN)
  return milliseconds >= least ? milliseconds : undefined
}
