/** Decides whom a hook's matcher means. */
import { covers } from "../../Ruleset.ts"
import type { Caller } from "../../Subject.ts"

/** Reads a matcher once; it takes time in proportion to its length and that of a name, whatever is in it. */
export const matches = (matcher: string): (of: Caller) => boolean => {
  const patterns = matcher.toLowerCase().split("|").map((each) => each.trim()).filter((each) => each !== "")
  if (patterns.length === 0) return () => true
  return ({ name, permission }) => {
    const [byName, byKey] = [name.toLowerCase(), permission.toLowerCase()]
    return patterns.some((pattern) => covers(pattern, byName) || covers(pattern, byKey))
  }
}
