/** Decides what a client says, in a line, of an answer that it did not expect. */
import { ResponseError } from "@effect/platform/HttpClientError"
import * as ParseResult from "effect/ParseResult"

/** The longest text from elsewhere that a message shows, in characters. */
const longest = 160

const cut = (text: string): string => {
  const [line = ""] = text.split("\n", 1)
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

/** What is expected is a whole type, which says nothing to a person, so only a short one is shown. */
const differenceOf = ({ message, path }: ParseResult.ArrayFormatterIssue): string => {
  const [, expected = "", actual = ""] = /^Expected ([^]*), actual ([^]*)$/.exec(message) ?? []
  const what = expected === ""
    ? cut(message)
    : expected.length > longest
    ? `${cut(actual)} is unexpected`
    : `expected ${cut(expected)}, got ${cut(actual)}`
  return path.length === 0 ? what : `${cut(path.map(String).join("."))}: ${what}`
}

/** What is wrong with an answer, in a line: of a problem its own words. */
export const unexpectedText = (error: { readonly detail: string } | { readonly message: string }): string => {
  if ("detail" in error) return error.detail
  if (ParseResult.isParseError(error)) {
    const [first] = ParseResult.ArrayFormatter.formatErrorSync(error)
    return first === undefined
      ? "the answer does not have the form of the API"
      : `the answer does not have the form of the API: ${differenceOf(first)}`
  }
  return cut(error instanceof ResponseError && error.description !== undefined ? error.description : error.message)
}
