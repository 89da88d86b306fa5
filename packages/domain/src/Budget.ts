/** Defines budgets, and how much of a budget is used. */
import * as BigDecimal from "effect/BigDecimal"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Cost } from "./Usage.ts"

const count = Schema.Positive.pipe(Schema.int())

const isDecimal = /^\d+(\.\d+)?$/

/** An amount of USD above zero, as an exact decimal such as `0.50`. */
const isDollars = (text: string): boolean =>
  text.length <= 30 && isDecimal.test(text) && Option.exists(BigDecimal.fromString(text), BigDecimal.isPositive)

const Dollars = Schema.String.pipe(
  Schema.filter(isDollars, {
    message: () => "an amount of USD above 0, as a decimal in quotes such as \"0.50\""
  })
)

/** A budget for a tree of work; an absent field is unlimited. */
export const Budget = Schema.Struct({
  /** The tokens of all model requests, input and output together. */
  tokens: Schema.optional(count),
  usd: Schema.optional(Dollars),
  /** Model requests. */
  steps: Schema.optional(count),
  /** Working time, in milliseconds; waiting for a person does not count. */
  time: Schema.optional(count),
  /** Started tasks. */
  tasks: Schema.optional(count)
})
/** The type of a budget. */
export interface Budget extends Schema.Schema.Type<typeof Budget> {}

/** Whether a value is a budget: only amounts above zero. */
export const isBudget = (value: unknown): value is Budget =>
  Either.isRight(Schema.decodeUnknownEither(Budget, { onExcessProperty: "error" })(value))

/** A field that a budget can limit. */
export type Bound = keyof Budget

/** All of them. */
export const bounds: ReadonlyArray<Bound> = ["tokens", "usd", "steps", "time", "tasks"]

/** The usage of a session and everything below it since the budget was set. */
export const Spent = Schema.Struct({
  tokens: Schema.NonNegativeInt,
  usd: Cost,
  steps: Schema.NonNegativeInt,
  /** In milliseconds. */
  time: Schema.NonNegative,
  tasks: Schema.NonNegativeInt
})
/** The type of this usage. */
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

/** A budget without any usage. */
export const open = (limit: Budget, since: number): Account => ({
  limit,
  spent: { tokens: 0, usd: "0", steps: 0, time: 0, tasks: 0 },
  since
})

const units: Record<Bound, string> = { tokens: "token", usd: "USD", steps: "step", time: "ms of work", tasks: "task" }

/** An amount with its unit, for people and models. */
export const formatAmount = (bound: Bound, amount: string | number): string =>
  `${amount} ${units[bound]}${bound === "usd" || bound === "time" || String(amount) === "1" ? "" : "s"}`
