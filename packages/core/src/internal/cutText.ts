/** Cuts texts to a length. */

/** The beginning of a text, without half a character at its end. */
export const cut = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, "")}…`
