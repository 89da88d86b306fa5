/** Finds what a person means by a few letters: those in order, best where they stand together or begin a word. */

/** How well a text matches; undefined where it does not. */
const score = (pattern: string, text: string): number | undefined => {
  const lower = text.toLowerCase()
  const whole = lower.indexOf(pattern)
  if (whole >= 0) {
    const isStart = whole === 0 || /[^a-z0-9]/.test(lower[whole - 1] ?? "")
    return 1_000 + (isStart ? 200 : 0) - whole - text.length / 100
  }
  let at = -1
  let points = 0
  for (const character of pattern) {
    const next = lower.indexOf(character, at + 1)
    if (next < 0) return undefined
    if (next === at + 1) points += 5
    else if (/[^a-z0-9]/.test(lower[next - 1] ?? " ")) points += 3
    at = next
  }
  return points - text.length / 100
}

/** The items that match, the best first; all of them in their order for an empty pattern. */
export const fuzzy = <A>(
  pattern: string,
  items: ReadonlyArray<A>,
  textOf: (item: A) => string
): ReadonlyArray<A> => {
  const wanted = pattern.toLowerCase().replaceAll(" ", "")
  if (wanted === "") return items
  return items
    .flatMap((item, at) => {
      const points = score(wanted, textOf(item))
      return points === undefined ? [] : [{ item, points, at }]
    })
    .toSorted((a, b) => b.points - a.points || a.at - b.at)
    .map(({ item }) => item)
}

/** How many letters differ. */
const distance = (a: string, b: string): number => {
  let before = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      row.push(Math.min((before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (before[j - 1] ?? 0) + same))
    }
    before = row
  }
  return before[b.length] ?? 0
}

/** The name that is meant by one with at most two wrong letters; undefined where none is. */
export const nearest = (name: string, names: ReadonlyArray<string>): string | undefined =>
  names
    .map((each) => ({ each, far: each.startsWith(name) ? 1 : distance(name.slice(0, 40), each) }))
    .filter(({ far }) => far <= 2)
    .toSorted((a, b) => a.far - b.far)[0]?.each

/** The names that are most like one, at most three: at least two thirds of it are as in them. */
export const nearestNames = (name: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names
    .map((each) => ({ each, far: distance(name.slice(0, 80), each) }))
    .filter(({ far }) => far <= name.length / 3)
    .toSorted((a, b) => a.far - b.far)
    .slice(0, 3)
    .map(({ each }) => each)
