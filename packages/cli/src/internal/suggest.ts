/** Guesses what was meant by a word that nothing is called by. */

/** How many characters have to be put in, left out, changed or swapped with their neighbour. */
const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Infinity
      )
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

/** The word that is nearest to what was typed; undefined where none is near. */
const suggest = (typed: string, words: Iterable<string>): string | undefined => {
  let best: string | undefined
  let least = Math.max(1, Math.floor(typed.length / 3)) + 0.5
  for (const word of words) {
    const far = word.startsWith(typed) && typed.length > 1 ? 1 : distance(typed, word)
    if (far < least) {
      least = far
      best = word
    }
  }
  return best
}

/** A half-sentence for the end of an error: ` Did you mean X?`, or nothing. */
export const didYouMean = (typed: string, words: Iterable<string>, show = (word: string) => word): string => {
  const meant = suggest(typed, words)
  return meant === undefined ? "" : ` Did you mean ${show(meant)}?`
}
