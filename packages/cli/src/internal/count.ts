/** Writes a count for people. */

/** A count in few characters: `950`, `4.2k`, `1.3M`. */
export const formatCount = (count: number): string => {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}
