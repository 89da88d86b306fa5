/** Keeps keys out of messages. */
import * as Redacted from "effect/Redacted"

/** Shorter values are more likely a word of the message than a secret. */
const shortest = 6

const patterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(Bearer|Basic)\s+[\w~+/.=-]{6,}/gi, "$1 [redacted]"],
  [/\b(?:sk|pk|rk|gsk|xai|key|tgp)[-_][\w-]{6,}/g, "[redacted]"],
  [/\/\/[^/@\s]+@/g, "//[redacted]@"]
]

/** Takes these secrets, and whatever looks like a key, out of a text. */
export const makeRedactor = (secrets: ReadonlyArray<Redacted.Redacted>): (text: string) => string => {
  const values = secrets
    .map((secret) => Redacted.value(secret))
    .filter((value) => value.length >= shortest)
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    .toSorted((a, b) => b.length - a.length)
  return (text) => {
    let safe = text
    for (const value of values) safe = safe.replaceAll(value, "[redacted]")
    for (const [pattern, replacement] of patterns) safe = safe.replace(pattern, replacement)
    return safe
  }
}
