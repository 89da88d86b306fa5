/** Redacts text that is shown, logged or sent: known secrets, and anything that looks like a key. */
import * as Redacted from "effect/Redacted"

/** A shorter value is more likely a word than a secret. */
const shortest = 6

const patterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(Bearer|Basic)\s+[\w~+/.=-]{6,}/gi, "$1 [redacted]"],
  [/\b(?:(?:sk|pk|rk|gsk|xai|key|tgp)[-_][\w-]{6,}|AIza[\w-]{20,})/g, "[redacted]"],
  [/\/\/[^/@\s"']+@/g, "//[redacted]@"],
  [/([?&](?:[\w-]*key|[\w-]*token|[\w-]*secret|password|sig|signature)=)[^&\s"'#]+/gi, "$1[redacted]"],
  [
    /\b((?:proxy-)?authorization|[\w-]*api[-_]?key)(["']?\s*[:=]\s*["']?)(?!(?:Bearer|Basic)\s)[^\s"',;\\[]{6,}/gi,
    "$1$2[redacted]"
  ]
]

/** Replaces these secrets, and anything that looks like a key. */
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
