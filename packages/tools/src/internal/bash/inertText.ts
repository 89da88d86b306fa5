/** Knows the characters that are only themselves, by where they stand: in a word, in quotes, in the braces of an expansion. */

/** Where literal text stands. */
export type Place = "plain" | "quoted" | "document" | "braced" | "bracedQuoted" | "pattern"

// A dollar sign is itself where nothing follows it that it could begin; a line end behind a backslash is as good as not there.
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

/** Whether all of a text from one place to another is only itself. */
export const isInert = (text: string, from: number, to: number, place: Place): boolean => {
  const signs = texts[place]
  signs.lastIndex = from
  return from + (signs.exec(text)?.[0].length ?? 0) >= to
}

/** What literal text says: the shell takes out the backslashes, of which quotes keep most. */
export const saidBy = (text: string, place: Place): string =>
  place === "plain" || place === "pattern" || place === "braced"
    ? text.replace(/\\(?:\n|([^]))/g, "$1")
    : text.replace(place === "document" ? /\\(?:\n|([\\`$]))/g : /\\(?:\n|([\\`$"]))/g, "$1")
