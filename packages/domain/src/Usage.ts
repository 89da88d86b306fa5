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

/** The cost of several requests: `0.35+` if that is what those with a known cost add up to, and others had none. */
export const TotalCost = Schema.Union(
  Cost,
  Schema.String.pipe(Schema.pattern(/^\d+(\.\d+)?\+$/, { description: "the known part of a cost, such as \"0.15+\"" }))
)

/** The usage of a session, a task or a subtree. */
export const Usage = Schema.Struct({
  tokens: Tokens,
  cost: TotalCost,
  /** Model requests that were sent and not refused. */
  steps: Count,
  /** Tool calls that ran or were refused. */
  toolCalls: Count,
  /** Tool calls that a permission denied. */
  blockedToolCalls: Count,
  /** Set if some of it is an estimate: an answer was cut off, or its model did not report its usage. */
  estimated: Schema.optional(Schema.Literal(true))
})
/** The type of usage. */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/** No tokens. */
export const noTokens: Tokens = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

/** No usage: the neutral element of `add`. */
export const none: Usage = { tokens: noTokens, cost: "0", steps: 0, toolCalls: 0, blockedToolCalls: 0 }

const isPartial = (cost: string): boolean => cost === "unknown" || cost.endsWith("+")

/** The part of a cost that is known. */
export const knownCost = (cost: string): string => cost === "unknown" ? "0" : cost.replace("+", "")

const total = (known: BigDecimal.BigDecimal, partial: boolean): string =>
  !partial ? plainDecimal(known) : BigDecimal.isZero(known) ? "unknown" : `${plainDecimal(known)}+`

const amountOf = (cost: string): BigDecimal.BigDecimal => BigDecimal.unsafeFromString(knownCost(cost))

/** Adds two costs. What is known of them stays known. */
export const addCost = (a: string, b: string): string => {
  if (a === "0") return b
  if (b === "0") return a
  return total(BigDecimal.sum(amountOf(a), amountOf(b)), isPartial(a) || isPartial(b))
}

/** A cost as a budget counts it: unknown if a part of it is. */
export const exactCost = (cost: string): Cost => isPartial(cost) ? "unknown" : cost

/** What a provider says that an answer cost, in USD; undefined if it is no cost. */
export const costSaid = (value: unknown): Cost | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0
    ? plainDecimal(BigDecimal.unsafeFromNumber(value))
    : typeof value === "string" && /^\d{1,12}(\.\d{1,30})?$/.test(value)
    ? plainDecimal(BigDecimal.unsafeFromString(value))
    : undefined

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
  blockedToolCalls: a.blockedToolCalls + b.blockedToolCalls,
  ...(a.estimated === true || b.estimated === true ? { estimated: true as const } : {})
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

/** What a request may use, stored before it is sent: a crash before its answer is stored uses all of it. */
export const Reserved = Schema.Struct({
  /** The estimated tokens of its input. */
  input: Count,
  /** The cap on its output, in tokens; 0 if no budget caps it. */
  output: Count,
  price: Schema.optional(Price)
})
/** The type of such a reservation. */
export interface Reserved extends Schema.Schema.Type<typeof Reserved> {}

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
  cost: total(
    BigDecimal.subtract(amountOf(after.cost), amountOf(before.cost)),
    isPartial(after.cost) || isPartial(before.cost)
  ),
  steps: after.steps - before.steps,
  toolCalls: after.toolCalls - before.toolCalls,
  blockedToolCalls: after.blockedToolCalls - before.blockedToolCalls,
  ...(after.estimated === true ? { estimated: true as const } : {})
})
