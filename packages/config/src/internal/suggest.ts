/** Finds what somebody may have meant. */

/** How many letters must be changed, added, removed or swapped with their neighbour to get from one text to another. */
const distance = (a: string, b: string): number => {
  let older: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (older[j - 2] ?? 0) + 1)
      }
      row.push(cost)
    }
    older = last
    last = row
  }
  return last[b.length] ?? 0
}

/** The name that is near enough to be meant, in whatever case; `undefined` where none is. */
export const suggest = (text: string, names: ReadonlyArray<string>): string | undefined => {
  const wanted = text.toLowerCase()
  let best: string | undefined
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const name of names) {
    // Texts whose lengths differ by that much are further apart; a long wrong key would take a large table to tell.
    if (Math.abs(wanted.length - name.length) >= least) continue
    const cost = distance(wanted, name.toLowerCase())
    if (cost < least) {
      best = name
      least = cost
    }
  }
  return best
}
