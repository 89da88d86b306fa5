/** Finds the name that was meant. */

/** The name that is fewest edits away, if that is at most a third of it. */
export const nearest = (text: string, names: ReadonlyArray<string>): string | undefined => {
  let best: string | undefined
  let least = Infinity
  for (const name of names) {
    const edits = distance(text.toLowerCase(), name.toLowerCase())
    if (edits < least && edits <= Math.max(1, Math.floor(name.length / 3))) {
      best = name
      least = edits
    }
  }
  return best
}

/** Counts insertions, deletions and replacements. */
const distance = (a: string, b: string): number => {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    above = current
  }
  return above[b.length] ?? 0
}
