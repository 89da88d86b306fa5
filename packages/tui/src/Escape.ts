/** Decides how text that others wrote reaches a terminal: what a terminal would obey or hide is shown as what it is. */
import { unseen } from "@skein/view/Visible"

const named = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`
  return `\\u{${code.toString(16)}}`
}

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** Text for one line: line breaks and tabs are shown as well. */
export const escapeLine = (text: string): string =>
  text.replace(unseen, (character) => short[character] ?? named(character))

/** An emoji that an invisible joiner combines with the next one, such as those of a family. */
const joined = /(\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]*)\u200D(?=\p{Extended_Pictographic})/gu

/**
 * Words that people or models write to be read, and never what may be run: combined emoji are shown one by one, because
 * terminals do not agree on how wide they are together.
 */
export const escapeWords = (text: string): string => escapeText(text.replace(joined, "$1"))

/** Text of several lines: line breaks and tabs stay what they are; `\r\n` is a line break. */
export const escapeText = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(
    unseen,
    (character) => character === "\n" || character === "\t" ? character : named(character)
  )
