/** Defines usage: tokens, cost, steps and tool calls, and how to add them up. */
import * as BigDecimal from "effect/BigDecimal"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const Count = Schema.NonNegativeInt

/** Tokens of model requests, by kind. */
export const Tokens = Schema.Struct({
  input: Count,
  output: Count,
  reasoning: Count,
  cacheRead: Count,
  cacheWrite: Count
})
/** The type of token counts. */
export interface Tokens extends Schema.Schema.Type<typeof Tokens> {}

/** A cost in USD: an exact decimal such as `0.000125`, or `unknown` if a price is not known. */
export const Cost = Schema.Union(
  Schema.Literal("unknown"),
  Schema.String.pipe(Schema.pattern(/^\d+(\.\d+)?$/, {
    message: () => "a decimal number of USD",
    description: "a decimal number of USD in quotes, such as \"0.15\""
  }))
)
/** The type of a cost. */
export type Cost = typeof Cost.Type

/** The usage of a session, a task or a subtree. */
export const Usage = Schema.Struct({
  tokens: Tokens,
  cost: Cost,
  /** Finished model requests. */
  steps: Count,
  /** Tool calls that ran or were refused. */
  toolCalls: Count,
  /** Tool calls that a permission denied. */
  blockedToolCalls: Count
})
/** The type of usage. */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/** No tokens. */
export const noTokens: Tokens = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

/** No usage: the neutral element of `add`. */
export const none: Usage = { tokens: noTokens, cost: "0", steps: 0, toolCalls: 0, blockedToolCalls: 0 }

/** Adds two costs; an unknown cost makes the sum unknown. */
export const addCost = (a: Cost, b: Cost): Cost => {
  if (a === "unknown" || b === "unknown") return "unknown"
  if (a === "0") return b
  if (b === "0") return a
  return plainDecimal(BigDecimal.sum(BigDecimal.unsafeFromString(a), BigDecimal.unsafeFromString(b)))
}

/** Adds token counts kind by kind. */
export const addTokens = (a: Tokens, b: Tokens): Tokens => ({
  input: a.input + b.input,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite
})

/** Adds two usages. */
export const add = (a: Usage, b: Usage): Usage => ({
  tokens: addTokens(a.tokens, b.tokens),
  cost: addCost(a.cost, b.cost),
  steps: a.steps + b.steps,
  toolCalls: a.toolCalls + b.toolCalls,
  blockedToolCalls: a.blockedToolCalls + b.blockedToolCalls
})

/** Prices in USD for one million tokens, each an exact decimal. */
export const Price = Schema.Struct({
  input: Cost,
  output: Cost,
  cacheRead: Schema.optional(Cost),
  cacheWrite: Schema.optional(Cost)
}).annotations({
  description: "an object such as {\"input\": \"0.15\", \"output\": \"0.6\"}, in USD for a million tokens"
})
/** The type of a price. */
export interface Price extends Schema.Schema.Type<typeof Price> {}

const million = BigDecimal.make(1n, -6)

const part = (tokens: number, price: string): BigDecimal.BigDecimal =>
  Option.getOrElse(
    BigDecimal.divide(
      BigDecimal.multiply(BigDecimal.fromBigInt(BigInt(tokens)), BigDecimal.unsafeFromString(price)),
      million
    ),
    () => BigDecimal.fromBigInt(0n)
  )

/**
 * The cost of these tokens. `input` and `output` are totals: cached input and reasoning output are parts of them.
 * A missing price, or a price that is unknown for tokens that were used, makes the cost unknown.
 */
export const costOf = (tokens: Tokens, price: Price | undefined): Cost => {
  if (price === undefined) return "unknown"
  const plain = Math.max(0, tokens.input - tokens.cacheRead - tokens.cacheWrite)
  const rows: ReadonlyArray<readonly [number, Cost]> = [
    [plain, price.input],
    [tokens.cacheRead, price.cacheRead ?? price.input],
    [tokens.cacheWrite, price.cacheWrite ?? price.input],
    [tokens.output, price.output]
  ]
  let sum = BigDecimal.fromBigInt(0n)
  for (const [count, each] of rows) {
    if (count === 0 || each === "0") continue
    if (each === "unknown") return "unknown"
    sum = BigDecimal.sum(sum, part(count, each))
  }
  return plainDecimal(sum)
}

/** A decimal without exponent and without trailing zeros. */
export const plainDecimal = (value: BigDecimal.BigDecimal): string => {
  const { scale, value: digits } = BigDecimal.normalize(value)
  if (scale <= 0) return (digits * 10n ** BigInt(-scale)).toString()
  const text = digits.toString().padStart(scale + 1, "0")
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/** The usage between two measurements. */
export const since = (before: Usage, after: Usage): Usage => ({
  tokens: {
    input: after.tokens.input - before.tokens.input,
    output: after.tokens.output - before.tokens.output,
    reasoning: after.tokens.reasoning - before.tokens.reasoning,
    cacheRead: after.tokens.cacheRead - before.tokens.cacheRead,
    cacheWrite: after.tokens.cacheWrite - before.tokens.cacheWrite
  },
  cost: after.cost === "unknown" || before.cost === "unknown"
    ? "unknown"
    : plainDecimal(
      BigDecimal.subtract(BigDecimal.unsafeFromString(after.cost), BigDecimal.unsafeFromString(before.cost))
    ),
  steps: after.steps - before.steps,
  toolCalls: after.toolCalls - before.toolCalls,
  blockedToolCalls: after.blockedToolCalls - before.blockedToolCalls
})
