/**
 * Splits what a person typed after a command: spaces separate words, quotes and backslashes keep them together, as in a
 * shell. Unlike there, an apostrophe within a word, as in `don't`, is an ordinary character.
 */

/** Whether a quote at this place is an apostrophe. */
const isApostrophe = (text: string, at: number): boolean =>
  text.charAt(at) === "'" && /[\p{L}\p{N}]/u.test(text.charAt(at - 1))

/** The words, without their quotes. Nothing in them is expanded; a quote that does not end is an ordinary character. */
export const wordsOf = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  let word: string | undefined
  let at = 0
  while (at < text.length) {
    const letter = text.charAt(at)
    const opens = letter === "\"" || (letter === "'" && !isApostrophe(text, at))
    const end = opens ? endOfQuote(text, at) : -1
    if (end >= 0) {
      const inside = text.slice(at + 1, end)
      word = (word ?? "") + (letter === "'" ? inside : inside.replace(/\\(["\\])/g, "$1"))
      at = end + 1
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word)
      word = undefined
      at++
    } else if (letter === "\\" && at + 1 < text.length) {
      word = (word ?? "") + text.charAt(at + 1)
      at += 2
    } else {
      word = (word ?? "") + letter
      at++
    }
  }
  return word === undefined ? words : [...words, word]
}

const endOfQuote = (text: string, start: number): number => {
  const quote = text.charAt(start)
  for (let at = start + 1; at < text.length; at++) {
    // An apostrophe in quoted words does not end them.
    const isWithin = isApostrophe(text, at) && /[\p{L}\p{N}]/u.test(text.charAt(at + 1))
    if (text.charAt(at) === quote && !isWithin) return at
    if (quote === "\"" && text.charAt(at) === "\\") at++
  }
  return -1
}
