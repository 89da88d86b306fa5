/** Shows characters that would hide or reorder text: a person who is asked about a command has to see all of it. */

/**
 * Controls (ESC and CR too), invisible and reordering characters, and lone surrogates. Fillers, joiners and variation
 * selectors count: they can carry invisible text.
 */
export const unseen =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]|[\u17B4\u17B5]|\u034F|[\uFE00-\uFE0E]|[\u{E0100}-\u{E01EF}]/gu

/** Characters that look like plain spaces and are not. */
const spaces = /[^\P{Zs} ]/gu

const named = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** The text with such characters as `\u{202e}`; line breaks and tabs stay. */
export const visible = (text: string): string =>
  text.replaceAll("\r\n", "\n")
    .replace(unseen, (character) => character === "\n" || character === "\t" ? character : named(character))
    .replace(spaces, named)

/** The same in one line. */
export const visibleLine = (text: string): string => visible(text).replace(/[\n\t]+/g, " ")
