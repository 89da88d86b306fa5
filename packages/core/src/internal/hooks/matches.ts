/** Decides what a hook's matcher matches. */
import { type Caller, covers } from "../../Ruleset.ts"

/**
 * Compiles a matcher once. Matching takes time in proportion to its length and that of a name, whatever it contains.
 */
export const matches = (matcher: string): (of: Caller) => boolean => {
  const patterns = matcher.toLowerCase().split("|").map((each) => each.trim()).filter((each) => each !== "")
  if (patterns.length === 0) return () => true
  return ({ name, permission }) => {
    const [byName, byKey] = [name.toLowerCase(), permission.toLowerCase()]
    return patterns.some((pattern) => covers(pattern, byName) || covers(pattern, byKey))
  }
}
