/** Guesses what was meant by a name that nothing is called by: for the errors of config, models and the command line. */

/** How many letters must be put in, left out, changed, or swapped with their neighbour, to get from one text to another. */
const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        ? (before[j - 2] ?? 0) + 1
        : Infinity
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, swapped))
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

/** How many edits apart two names may be: two at most, and no more than half of what was typed. */
const edits = (typed: string): number => Math.min(2, Math.floor(typed.length / 2))

/** The nearest name within two edits; unlike for `nearest`, a beginning of a name is not near. */
export const similar = (typed: string, names: Iterable<string>): string | undefined =>
  closest(typed, names, edits(typed), false)

/** The name that is near enough to be meant, in whatever case; undefined where none is. A beginning of a name is near. */
export const nearest = (typed: string, names: Iterable<string>): string | undefined =>
  closest(typed, names, Math.max(edits(typed), Math.floor(typed.length / 3)), true)

const closest = (
  typed: string,
  names: Iterable<string>,
  most: number,
  mayBegin: boolean
): string | undefined => {
  const wanted = typed.toLowerCase()
  let best: string | undefined
  let least = most + 1
  for (const name of names) {
    const begins = mayBegin && wanted.length > 1 && name.toLowerCase().startsWith(wanted)
    // Texts whose lengths differ by that much are further apart; a long wrong name would take a large table to tell.
    if (!begins && Math.abs(wanted.length - name.length) >= least) continue
    const far = begins ? 1 : distance(wanted, name.toLowerCase())
    if (far < least) {
      best = name
      least = far
    }
  }
  return best
}

/** A half-sentence for the end of an error: ` Did you mean X?`, or nothing. `show` writes the name as it is to be typed. */
export const didYouMean = (typed: string, names: Iterable<string>, show = (name: string): string => name): string => {
  const meant = nearest(typed, names)
  return meant === undefined ? "" : ` Did you mean ${show(meant)}?`
}
