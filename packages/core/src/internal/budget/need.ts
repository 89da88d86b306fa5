/** Decides what a request needs of a budget: its input, and the output that it may have. */
import type { Bound } from "@skein/domain/Budget"
import type { Cost, Price } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { type Amount, toAmount, zero } from "./amount.ts"

/** The smallest output that is worth a request, in tokens. */
export const leastOutput = 256

/** The output that most answers stay below: a request waits for so much where others are about to give it back. */
export const usualOutput = 8_192

/** What a request needs. */
export interface Need {
  /** Its input, as it is estimated, in tokens. */
  readonly input: number
  /** How many steps it counts as. */
  readonly steps: 0 | 1
  readonly price: Price | undefined
  /** The most output that makes sense: what the model can say. `Infinity` where nobody knows. */
  readonly most: number
  /** The least output without which it is not sent. */
  readonly least: number
  /** The output that it waits for while requests under way may free it. */
  readonly preferred: number
}

const perToken = (price: Cost | undefined): Amount =>
  price === undefined ? zero : BigDecimal.multiply(toAmount(price) ?? zero, BigDecimal.make(1n, 6))

/** What a token of input costs at most: one that is written to a cache may cost more. */
const inputPrice = (price: Price | undefined): Amount =>
  BigDecimal.max(perToken(price?.input), perToken(price?.cacheWrite))

const count = (tokens: number): Amount => BigDecimal.fromBigInt(BigInt(Math.ceil(tokens)))

/** How much a request with so much output takes of what a budget bounds. */
export const amountOf = ({ input, price, steps }: Need, bound: Bound, output: number): Amount => {
  switch (bound) {
    case "tokens":
      return count(input + output)
    case "usd":
      return BigDecimal.sum(
        BigDecimal.multiply(inputPrice(price), count(input)),
        BigDecimal.multiply(perToken(price?.output), count(output))
      )
    case "steps":
      return count(steps)
    default:
      return zero
  }
}

/** How much output a request may have where so much is free; less than nothing where even its input is too much. */
export const outputWithin = (need: Need, bound: Bound, free: Amount): number => {
  const left = BigDecimal.unsafeToNumber(BigDecimal.subtract(free, amountOf(need, bound, 0)))
  if (left < 0) return -1
  if (bound === "tokens") return Math.floor(left)
  const price = bound === "usd" ? BigDecimal.unsafeToNumber(perToken(need.price?.output)) : 0
  return price === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / price)
}
