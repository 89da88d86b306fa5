/** Says what is wrong with a server in words that a person can act on. */
import * as Data from "effect/Data"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { cleanLine } from "./content.ts"

/** A server could not be reached, or ended. */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{ readonly message: string }> {}

/** The longest such words. */
const longest = 500

/** What a schema of the SDK says that an answer does not fit. */
const Issues = Schema.Struct({
  issues: Schema.NonEmptyArray(
    Schema.Struct({ path: Schema.Array(Schema.Union(Schema.String, Schema.Number)), message: Schema.String })
  )
})
const decodeIssues = Schema.decodeUnknownOption(Issues)

/** Where an error of the SDK names the same issues, as text: `Invalid result for tools/list: [ … ]`. */
const listed = /^(Invalid result for [\w/]+): (?:\w+: )?(\[.*\])$/s

const parseIssues = Schema.decodeUnknownOption(Schema.parseJson(Issues.fields.issues))

const shown = (issues: typeof Issues.Type["issues"]): string =>
  issues.slice(0, 3).map(({ message, path }) => {
    const said = message.replace(/^Invalid input: /, "")
    return path.length === 0 ? said : `${path.join(".")}: ${said}`
  }).join("; ")

/** What is wrong with a value, from the issues of a schema of the SDK, in one line. */
export const faultOf = (issues: unknown): string => {
  const known = decodeIssues({ issues })
  return cleanLine(Option.isSome(known) ? shown(known.value.issues) : "it is invalid", longest)
}

const withoutDump = (message: string): string => {
  const [, what = "", dump = ""] = listed.exec(message) ?? []
  if (what === "") return message
  const issues = parseIssues(dump)
  return Option.isSome(issues) ? `${what}: ${shown(issues.value)}` : what
}

/** What an error says, made fit to be shown. */
export const wordsOf = (cause: unknown): string => {
  const misfit = decodeIssues(cause)
  if (Option.isSome(misfit)) {
    return cleanLine(`it sent an invalid message: ${shown(misfit.value.issues)}`, longest)
  }
  const { cause: inner, message } = cause instanceof Error ? cause : new Error(String(cause))
  // Node says only that a request failed; what is behind that says why. A host may have several addresses.
  const [first = inner] = inner instanceof AggregateError ? inner.errors : []
  const said = message === "fetch failed" && first instanceof Error ? first.message : withoutDump(message)
  // What shows it ends the sentence.
  return cleanLine(said, longest).replace(/\.+$/, "")
}
