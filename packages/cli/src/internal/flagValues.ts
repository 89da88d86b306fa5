/** Decides which values a flag takes, and says what is wrong with others. */
import { didYouMean } from "@skein/domain/Lookup"
import type { Flag } from "../CommandSpec.ts"
import { parseDuration } from "./duration.ts"

/** What is wrong with the value of a flag; undefined if nothing is. */
export const wrongValue = (flag: Flag, raw: string, value: string | undefined, inline: boolean): string | undefined => {
  const got = value === undefined ? "nothing" : JSON.stringify(value)
  if (flag.type === "switch") return value === undefined ? undefined : `${raw} takes no value, and got ${got}.`
  if (value === undefined || value.trim() === "") return `${raw} needs ${expectedBy(flag)}, and got ${got}.`
  if (flag.type === "text" && value.length > (flag.most ?? Number.POSITIVE_INFINITY)) {
    return `${raw} takes at most ${flag.most} characters, and got ${value.length}.`
  }
  // A prompt that begins with a dash needs `=` or `--`. Otherwise it is a flag, and the flag before it has no value.
  if (!inline && flag.type === "text" && value.startsWith("-") && value !== "-") {
    return `${raw} needs ${expectedBy(flag)}, and ${got} looks like another flag. Write ${raw}=${value} if it is meant.`
  }
  const isRight = flag.type === "text" || valueOf(flag, [value]) !== undefined
  const meant = flag.type === "choice" ? didYouMean(value, flag.choices) : ""
  return isRight ? undefined : `${raw} needs ${expectedBy(flag)}, and got ${got}.${meant}`
}

const expectedBy = (flag: Flag): string => {
  switch (flag.type) {
    case "switch":
      return "no value"
    case "text":
      return `a value (${flag.value})`
    case "count":
      return "a whole number from 1 to 999999999"
    case "port":
      return "a port from 0 to 65535"
    case "money":
      return "an amount of USD above zero such as 0.50, at most 999999999"
    case "duration":
      return "a time above zero such as 90s, 30m, 1h, 1500ms or 5 (seconds), at most 24 days"
    case "choice":
      return `one of ${flag.choices.join(", ")}`
  }
}

/** The value of a flag, from all values that were given. The last one counts if the flag takes only one. */
export const valueOf = (flag: Flag, given: ReadonlyArray<string>): unknown => {
  const last = given.at(-1)
  switch (flag.type) {
    case "switch":
      return given.length > 0
    case "text":
      return flag.many === true ? given : last
    case "count":
      return last !== undefined && /^\d{1,9}$/.test(last) && Number(last) >= 1 ? Number(last) : undefined
    case "port":
      return last !== undefined && /^\d{1,5}$/.test(last) && Number(last) <= 65_535 ? Number(last) : undefined
    case "money":
      return last !== undefined && /^\d{1,9}(?:\.\d{1,12})?$/.test(last) && Number(last) > 0 ? last : undefined
    case "duration":
      return last === undefined ? undefined : parseDuration(last)
    case "choice":
      if (last !== undefined) return flag.choices.find((choice) => choice === last)
      return flag.isOptional === true ? undefined : flag.choices[0]
  }
}
