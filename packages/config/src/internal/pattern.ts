/** Compares wildcards with each other: which covers which, and which have texts in common. */

// A trailing ` *` also covers the text without it.
const forms = (pattern: string): ReadonlyArray<string> =>
  pattern.endsWith(" *") ? [pattern, pattern.slice(0, -2)] : [pattern]

/**
 * Whether everything that `narrow` matches is matched by `wide`. May say no where the answer is yes (`*?` and `?*`),
 * never the other way round.
 */
export const coversAll = (wide: string, narrow: string): boolean =>
  forms(narrow).every((form) => forms(wide).some((pattern) => glob(pattern, form)))

// As a match of texts, except that a wildcard of the narrower pattern is only covered by one that is as wide.
const glob = (wide: string, narrow: string): boolean => {
  let w = 0
  let n = 0
  let star = -1
  let resume = 0
  while (n < narrow.length) {
    const at = wide[w]
    if (at === "*") {
      star = w++
      resume = n
    } else if (at !== undefined && (at === narrow[n] || (at === "?" && narrow[n] !== "*"))) {
      w++
      n++
    } else if (star >= 0) {
      w = star + 1
      n = ++resume
    } else return false
  }
  while (wide[w] === "*") w++
  return w === wide.length
}

// Which directory is home is not known here, so that it may be any.
const anywhere = (pattern: string): string => pattern.replace(/^(?:~|\$HOME)(?=\/|$)/, "*")

/** Whether there may be a text that both match. */
export const overlaps = (a: string, b: string): boolean =>
  forms(anywhere(a)).some((left) => forms(anywhere(b)).some((right) => meet(left, right)))

const meet = (a: string, b: string): boolean => {
  // reach[j]: whether the rest of `a` from i and the rest of `b` from j can match one text.
  let below: ReadonlyArray<boolean> = []
  for (let i = a.length; i >= 0; i--) {
    const reach: Array<boolean> = Array.from({ length: b.length + 1 }, () => false)
    for (let j = b.length; j >= 0; j--) {
      const x = a[i]
      const y = b[j]
      reach[j] = x === undefined && y === undefined
        || (x === "*" && (below[j] === true || (y !== undefined && reach[j + 1] === true)))
        || (y === "*" && (reach[j + 1] === true || (x !== undefined && below[j] === true)))
        || (x !== undefined && y !== undefined && (x === y || x === "?" || y === "?") && below[j + 1] === true)
    }
    below = reach
  }
  return below[0] === true
}
