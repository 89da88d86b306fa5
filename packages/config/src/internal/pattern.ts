/** Compares wildcards: which covers which, and which overlap. */
import { walk } from "@skein/core/Ruleset"

// A trailing ` *` also matches the text without it.
const forms = (pattern: string): ReadonlyArray<string> =>
  pattern.endsWith(" *") ? [pattern, pattern.slice(0, -2)] : [pattern]

/**
 * Whether `wide` matches everything that `narrow` matches. May return false for true (`*?` and `?*`), but never the
 * reverse.
 */
export const coversAll = (wide: string, narrow: string): boolean =>
  forms(narrow).every((form) => forms(wide).some((pattern) => glob(pattern, form)))

// Like matching a text, except that a wildcard of the narrower pattern is only covered by one that is as wide.
const glob = (wide: string, narrow: string): boolean =>
  walk(wide, narrow, "*", (sign: string, other) => sign === other || (sign === "?" && other !== "*"))

// The home directory is unknown here, so any may be meant.
const anywhere = (pattern: string): string => pattern.replace(/^(?:~|\$HOME)(?=\/|$)/, "*")

/** Whether some text matches both. */
export const overlaps = (a: string, b: string): boolean =>
  forms(anywhere(a)).some((left) => forms(anywhere(b)).some((right) => meet(left, right)))

// Both sides have runs here, so `walk`, which extends the last run of one side only, cannot decide.
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
