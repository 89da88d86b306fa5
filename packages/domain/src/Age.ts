/** Decides how a long time is written: a number of milliseconds, or text such as `36h`, `90d` or `12w`. */
import * as Schema from "effect/Schema"

const hour = 3_600_000

const units: Readonly<Record<string, number>> = { h: hour, d: 24 * hour, w: 7 * 24 * hour }

/** The longest age: about 100 years. */
const longest = 36_600 * 24 * hour

/** Reads `36h`, `90d` or `12w`; returns milliseconds, or undefined if it is no age. */
export const parseAge = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text.trim()) ?? []
  const milliseconds = Number(digits) * (units[unit] ?? Number.NaN)
  return milliseconds > 0 && milliseconds <= longest ? milliseconds : undefined
}

/** An age of at least so many milliseconds, which `leastText` names for people. Its type is the number of milliseconds. */
export const ageFrom = (least: number, leastText: string) => {
  const description =
    `a whole number of milliseconds or an age such as "36h", "90d" or "12w", at least ${leastText}, at most 100 years`
  const said = { message: () => description, description }
  return Schema.transform(
    Schema.Union(
      Schema.Number.pipe(Schema.int(), Schema.between(least, longest, said)),
      Schema.String.pipe(
        Schema.filter((text) => (parseAge(text) ?? 0) >= least, {
          ...said,
          jsonSchema: { pattern: String.raw`^\d{1,6}[hdw]$` }
        })
      )
    ).annotations({ description }),
    Schema.Number.pipe(Schema.int(), Schema.between(least, longest)),
    // What was checked before has a value.
    {
      strict: true,
      decode: (age) => typeof age === "number" ? age : parseAge(age) ?? least,
      encode: (age) => age
    }
  )
}
