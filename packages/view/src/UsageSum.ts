/** Adds and subtracts usage without a decimal library, exactly as domain does. */
import type { Tokens, Usage } from "@skein/domain/Usage"

/** Nothing used. */
export const nothing: Usage = {
  tokens: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
  cost: "0",
  steps: 0,
  toolCalls: 0,
  blockedToolCalls: 0
}

const scaled = (decimal: string, scale: number): bigint => {
  const [whole = "0", fraction = ""] = decimal.split(".")
  return BigInt(whole + fraction.padEnd(scale, "0"))
}

const scaleOf = (decimal: string): number => decimal.split(".")[1]?.length ?? 0

const isPartial = (cost: string): boolean => cost === "unknown" || cost.endsWith("+")

const knownIn = (cost: string): string => cost === "unknown" ? "0" : cost.replace("+", "")

/** `a` plus `sign` times `b` as decimals. What is known stays known, and a negative result becomes zero. */
const combine = (a: string, b: string, sign: 1n | -1n): string => {
  if (b === "0") return a
  const [left, right] = [knownIn(a), knownIn(b)]
  const scale = Math.max(scaleOf(left), scaleOf(right))
  const value = scaled(left, scale) + sign * scaled(right, scale)
  const rest = isPartial(a) || isPartial(b) ? "+" : ""
  if (value <= 0n) return rest === "" ? "0" : "unknown"
  const digits = value.toString().padStart(scale + 1, "0")
  const sum = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, "")
  return sum + rest
}

const kinds = ["input", "output", "reasoning", "cacheRead", "cacheWrite"] as const satisfies ReadonlyArray<keyof Tokens>

const merge = (a: Usage, b: Usage, sign: 1 | -1): Usage => {
  const count = (left: number, right: number) => Math.max(0, left + sign * right)
  const tokens = { ...a.tokens }
  for (const kind of kinds) tokens[kind] = count(a.tokens[kind], b.tokens[kind])
  return {
    tokens,
    cost: combine(a.cost, b.cost, sign === 1 ? 1n : -1n),
    steps: count(a.steps, b.steps),
    toolCalls: count(a.toolCalls, b.toolCalls),
    blockedToolCalls: count(a.blockedToolCalls, b.blockedToolCalls)
  }
}

/** Adds two usages. */
export const sum = (a: Usage, b: Usage): Usage => merge(a, b, 1)

/** The usage between two snapshots of the same thing. */
export const since = (before: Usage, after: Usage): Usage => before === nothing ? after : merge(after, before, -1)

/** The tokens of requests and answers together. */
export const tokensOf = ({ tokens: { input, output } }: Usage): number => input + output
