/** Lists the characters that are literal in each context: in a word, in quotes, in the braces of an expansion. */

/** The context of literal text. */
export type Place = "plain" | "quoted" | "document" | "braced" | "bracedQuoted" | "pattern"

// A dollar sign is literal if nothing follows that it could begin. A line end after a backslash does not count.
const dollar = String.raw`\$(?![\w{(\[@*#?!$-]|\\\n)`

const bareDollar = String.raw`\$(?![\w{(\['"@*#?!$-]|\\\n)`

const texts: Readonly<Record<Place, RegExp>> = {
  plain: new RegExp(String.raw`(?:\\[^]|[^ \t\n\\'"${"`"}$;&|<>()]|${bareDollar})*`, "y"),
  quoted: new RegExp(String.raw`(?:\\[^]|[^\\"${"`"}$]|${dollar})*`, "y"),
  document: new RegExp(String.raw`(?:\\[^]|[^\\${"`"}$]|${dollar})*`, "y"),
  braced: new RegExp(String.raw`(?:\\[^]|[<>](?!\()|[^\\'"${"`"}$}<>]|${bareDollar})*`, "y"),
  bracedQuoted: new RegExp(String.raw`(?:\\[^]|[^\\"${"`"}$}]|${dollar})*`, "y"),
  pattern: new RegExp(String.raw`(?:\\[^]|[^ \t\n\\'"${"`"}$;&<>]|${bareDollar})*`, "y")
}

/** Whether all characters of a range are literal. */
export const isInert = (text: string, from: number, to: number, place: Place): boolean => {
  const signs = texts[place]
  signs.lastIndex = from
  return from + (signs.exec(text)?.[0].length ?? 0) >= to
}

/** The value of literal text. The shell removes backslashes; quotes keep most of them. */
export const saidBy = (text: string, place: Place): string =>
  place === "plain" || place === "pattern" || place === "braced"
    ? text.replace(/\\(?:\n|([^]))/g, "$1")
    : text.replace(place === "document" ? /\\(?:\n|([\\`$]))/g : /\\(?:\n|([\\`$"]))/g, "$1")
