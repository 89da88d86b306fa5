/** Says what is wrong with a server in words that a person can act on. */
import { cleanLine } from "./cleanText.ts"

/** The longest such words. */
const longest = 500

/** What an error says, made fit to be shown. */
export const wordsOf = (cause: unknown): string => {
  const { cause: inner, message } = cause instanceof Error ? cause : new Error(String(cause))
  // Node says of a request only that it failed; what is behind that says why.
  const said = message === "fetch failed" && inner instanceof Error ? inner.message : message
  return cleanLine(said, longest)
}
