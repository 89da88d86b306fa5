/** Says what is wrong with a server in words that a person can act on. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { cleanLine } from "./cleanText.ts"

/** The longest such words. */
const longest = 500

/** What a schema of the SDK says that an answer does not fit. */
const Issues = Schema.Struct({
  issues: Schema.NonEmptyArray(
    Schema.Struct({ path: Schema.Array(Schema.Union(Schema.String, Schema.Number)), message: Schema.String })
  )
})
const decodeIssues = Schema.decodeUnknownOption(Issues)

/** What an error says, made fit to be shown. */
export const wordsOf = (cause: unknown): string => {
  const misfit = decodeIssues(cause)
  if (Option.isSome(misfit)) {
    const faults = misfit.value.issues.slice(0, 3).map((issue) => `${issue.path.join(".")}: ${issue.message}`)
    return cleanLine(`what it sent cannot be understood: ${faults.join("; ")}`, longest)
  }
  const { cause: inner, message } = cause instanceof Error ? cause : new Error(String(cause))
  // Node says of a request only that it failed; what is behind that says why.
  const said = message === "fetch failed" && inner instanceof Error ? inner.message : message
  // What shows it ends the sentence.
  return cleanLine(said, longest).replace(/\.+$/, "")
}
