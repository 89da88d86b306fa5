/** Takes out of a server's text what is not meant to be read: control characters, escape sequences, and marks that nobody sees. */

/** Escape sequences of terminals, whole: without its first character, the rest would be left as text. */
const sequences =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g

/** Control characters but line feeds and tabs, overrides of direction, and the tags that hide text. */
const hidden =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu

/** The text as people would see it. */
export const cleanText = (text: string): string =>
  text.replaceAll(/\r\n?|\u2028|\u2029/g, "\n").replaceAll(sequences, "").replaceAll(hidden, "")

/** The same in one line, at most so many characters. */
export const cleanLine = (text: string, most: number): string => {
  const line = cleanText(text).replaceAll(/\s+/g, " ").trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}
