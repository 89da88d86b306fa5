/** Looks up names that models, servers, pages, commands and people choose, and suggests what a misspelled one may have meant. */

/** The same entries, and nothing under names such as `constructor` or `__proto__` that every object inherits. */
export const lookup = <A>(entries: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  Object.assign(Object.create(null), entries)

/** The edit distance of two texts: letters inserted, deleted, changed, or swapped with their neighbour. */
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

/** The maximum distance of a suggestion: two edits, and at most half of what was typed. */
const edits = (typed: string): number => Math.min(2, Math.floor(typed.length / 2))

/** The nearest name within two edits. Unlike for `nearest`, a prefix of a name is not near. */
export const similar = (typed: string, names: Iterable<string>): string | undefined =>
  closest(typed, names, edits(typed), false)

/** The nearest name that may be meant, in any case; undefined if there is none. A prefix of a name is near. */
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
    // Texts whose lengths differ that much are further apart, and a long wrong name would need a large table.
    if (!begins && Math.abs(wanted.length - name.length) >= least) continue
    const far = begins ? 1 : distance(wanted, name.toLowerCase())
    if (far < least) {
      best = name
      least = far
    }
  }
  return best
}

/**
 * A suggestion for the end of an error: ` Did you mean X?`, or nothing. `show` writes the name as you would type it.
 */
export const didYouMean = (typed: string, names: Iterable<string>, show = (name: string): string => name): string => {
  const meant = nearest(typed, names)
  return meant === undefined ? "" : ` Did you mean ${show(meant)}?`
}
