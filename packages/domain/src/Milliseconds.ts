/** Durations in milliseconds, as config and programs write them: a number, or text such as `30m`, `36h` or `12w`. */
import * as Schema from "effect/Schema"

const hour = 3_600_000
const times: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: hour }
const ages: Readonly<Record<string, number>> = { h: hour, d: 24 * hour, w: 7 * 24 * hour }

/** The longest time that fits into a timer, in milliseconds: almost 25 days. */
export const longestTime = 2 ** 31 - 1

/** The longest age: about 100 years. */
const longestAge = 36_600 * 24 * hour

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

/** Whole milliseconds within bounds, or text that `parse` reads. */
const millisecondsIn = (
  [least, most]: readonly [number, number],
  parse: (text: string) => number | undefined,
  pattern: string,
  description: string
) => {
  const said = { message: () => description, description }
  return Schema.transform(
    Schema.Union(
      Schema.Number.pipe(Schema.int(), Schema.between(least, most, said)),
      Schema.String.pipe(
        Schema.filter((text) => {
          const value = parse(text)
          return value !== undefined && value >= least && value <= most
        }, { ...said, jsonSchema: { pattern } })
      )
    ).annotations({ description }),
    Schema.Number.pipe(Schema.int(), Schema.between(least, most)),
    // The check above guarantees a value.
    {
      strict: true,
      decode: (value) => typeof value === "number" ? value : parse(value) ?? most,
      encode: (value) => value
    }
  )
}

/** A time from 1 ms up to `most`, which `mostText` names for people. Its type is the number of milliseconds. */
export const millisecondsUpTo = (most: number, mostText: string) =>
  millisecondsIn(
    [1, most],
    parseTime,
    String.raw`^\d+(\.\d+)?(ms|s|m|h)$`,
    `a whole number of milliseconds or a time such as "90s" or "30m", at most ${mostText}`
  )

/** A time that fits into a timer. */
export const Milliseconds = millisecondsUpTo(longestTime, "24 days")

/** An age of at least so many milliseconds, which `leastText` names for people. Its type is the number of milliseconds. */
export const ageFrom = (least: number, leastText: string) =>
  millisecondsIn(
    [least, longestAge],
    parseAge,
    String.raw`^\d{1,6}[hdw]$`,
    `a whole number of milliseconds or an age such as "36h", "90d" or "12w", at least ${leastText}, at most 100 years`
  )
