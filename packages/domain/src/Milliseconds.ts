/** Defines times in config and in the arguments of tools: a number of milliseconds, or text such as `30m`. */
import * as Schema from "effect/Schema"
import { longestTime, parseTime } from "./TimeText.ts"

/** A time from 1 ms up to `most`, which `mostText` names for people. Its type is the number of milliseconds. */
export const millisecondsUpTo = (most: number, mostText: string) => {
  const description = `a whole number of milliseconds or a time such as "90s" or "30m", at most ${mostText}`
  const said = { message: () => description, description }
  return Schema.transform(
    Schema.Union(
      Schema.Number.pipe(Schema.int(), Schema.between(1, most, said)),
      Schema.String.pipe(
        Schema.filter((text) => (parseTime(text) ?? Number.POSITIVE_INFINITY) <= most, {
          ...said,
          jsonSchema: { pattern: String.raw`^\d+(\.\d+)?(ms|s|m|h)$` }
        })
      )
    ).annotations({ description }),
    Schema.Number.pipe(Schema.int(), Schema.between(1, most)),
    // The check above guarantees a value.
    {
      strict: true,
      decode: (time) => typeof time === "number" ? time : parseTime(time) ?? most,
      encode: (time) => time
    }
  )
}

/** A time that fits into a timer. */
export const Milliseconds = millisecondsUpTo(longestTime, "24 days")
