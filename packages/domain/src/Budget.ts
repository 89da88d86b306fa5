/** Decides what work may use, and how much of that is used. */
import * as BigDecimal from "effect/BigDecimal"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Cost } from "./Usage.ts"

const count = Schema.Positive.pipe(Schema.int())

const isDecimal = /^\d+(\.\d+)?$/

/** An amount of USD above nothing, as an exact decimal such as `0.50`. */
const isDollars = (text: string): boolean =>
  text.length <= 30 && isDecimal.test(text) && Option.exists(BigDecimal.fromString(text), BigDecimal.isPositive)

const Dollars = Schema.String.pipe(
  Schema.filter(isDollars, {
    message: () => "an amount of USD above 0, as a decimal in quotes such as \"0.50\""
  })
)

/** What a tree of work may use; what is absent has no bound. */
export const Budget = Schema.Struct({
  /** Of all model requests, input and output together. */
  tokens: Schema.optional(count),
  usd: Schema.optional(Dollars),
  /** Model requests. */
  steps: Schema.optional(count),
  /** Time at work, in milliseconds; waiting for a person does not count. */
  time: Schema.optional(count),
  /** Tasks that are started. */
  tasks: Schema.optional(count)
})
/** The type of a budget. */
export interface Budget extends Schema.Schema.Type<typeof Budget> {}

/** Whether a value is a budget: amounts above nothing, and nothing else. */
export const isBudget = (value: unknown): value is Budget =>
  Either.isRight(Schema.decodeUnknownEither(Budget, { onExcessProperty: "error" })(value))

/** One of the things that a budget can bound. */
export type Bound = keyof Budget

/** All of them. */
export const bounds: ReadonlyArray<Bound> = ["tokens", "usd", "steps", "time", "tasks"]

/** What a session and all below it have used of a budget, since it was set. */
export const Spent = Schema.Struct({
  /** `unknown` after a request whose model does not say what it used. */
  tokens: Schema.Union(Schema.Literal("unknown"), Schema.NonNegativeInt),
  usd: Cost,
  steps: Schema.NonNegativeInt,
  /** In milliseconds. */
  time: Schema.NonNegative,
  tasks: Schema.NonNegativeInt
})
/** The type of what is used. */
export interface Spent extends Schema.Schema.Type<typeof Spent> {}

/** A budget in use. */
export const Account = Schema.Struct({
  limit: Budget,
  spent: Spent,
  /** When it was set, in milliseconds since 1970. */
  since: Schema.Number
})
/** The type of a budget in use. */
export interface Account extends Schema.Schema.Type<typeof Account> {}

/** A budget of which nothing is used yet. */
export const open = (limit: Budget, since: number): Account => ({
  limit,
  spent: { tokens: 0, usd: "0", steps: 0, time: 0, tasks: 0 },
  since
})

const units: Record<Bound, (amount: string) => string> = {
  tokens: (amount) => `${amount} tokens`,
  usd: (amount) => `${amount} USD`,
  steps: (amount) => `${amount} steps`,
  time: (amount) => `${amount} ms of work`,
  tasks: (amount) => `${amount} tasks`
}

/** An amount with its unit, for people and models. */
export const formatAmount = (bound: Bound, amount: string | number): string => units[bound](String(amount))
