/** Shows a change to the person who is asked for permission. */
import { head } from "../files/lineWindow.ts"

/** How many lines and characters of a change are shown. */
const maximum = { lines: 200, characters: 10_000 }

const signed = (sign: string, text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n", maximum.lines + 1).map((line) => sign + line)

/** The removed and the added lines, truncated if there are many. */
export const preview = (removed: string, added: string): string =>
  bounded([...signed("-", removed), ...signed("+", added)])

/** A text for people, truncated if it is long. */
export const bounded = (lines: ReadonlyArray<string>): string => {
  const text = lines.slice(0, maximum.lines).join("\n")
  const shown = head(text, maximum.characters)
  return shown.length < text.length || lines.length > maximum.lines ? `${shown}\n… (more is not shown)` : shown
}
