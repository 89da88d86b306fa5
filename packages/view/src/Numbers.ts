/** Formats counts, amounts and times for people: briefly, and the same on the page and in the terminal. */

/** A count: `950`, `4.2k`, `1.3M`. */
export const formatCount = (count: number): string => {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** An amount of USD: `$0.0012`, `$0.35`, `$12.40`; `unpriced` if no price of it is known. */
export const formatCost = (cost: string): string => {
  if (cost === "unknown") return "unpriced"
  const amount = Number.parseFloat(cost)
  const more = cost.endsWith("+") ? "+" : ""
  if (amount > 0 && amount < 0.0001) return `<$0.0001${more}`
  return `$${amount === 0 ? "0" : amount < 0.1 ? amount.toFixed(4) : amount.toFixed(2)}${more}`
}

/** A time in milliseconds: `5 ms`, `0.4 s`, `12 s`, `3 m 05 s`, `2 h 07 m`. */
export const formatDuration = (milliseconds: number): string => {
  const seconds = Math.max(0, milliseconds) / 1_000
  if (milliseconds > 0 && milliseconds < 50) return `${Math.ceil(milliseconds)} ms`
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes} m ${String(whole % 60).padStart(2, "0")} s`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`
}

/** How long ago something happened, in one unit: `now`, `5 m ago`, `3 h ago`, `12 d ago`. */
export const formatAgo = (milliseconds: number): string => {
  const minutes = Math.floor(Math.max(0, milliseconds) / 60_000)
  if (minutes < 1) return "now"
  if (minutes < 60) return `${minutes} m ago`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`
}
