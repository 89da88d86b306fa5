/** Durations in milliseconds, as config and programs write them: a number, or text such as `30m`, `36h` or `12w`. */
import * as Schema from "effect/Schema"
import { longestAge, longestTime, parseAge, parseTime } from "./Typed.ts"

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
