/** Decides what a request needs of a budget: its input, and its output. */
import type { Bound } from "@skein/domain/Budget"
import type { Cost, Price } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { type Amount, toAmount, zero } from "./amount.ts"

/** The smallest useful output, in tokens. */
export const leastOutput = 256

/** Most answers are shorter than this: a request waits for that much if others are about to release it. */
export const usualOutput = 8_192

/** What a request needs. */
export interface Need {
  /** Its estimated input, in tokens. */
  readonly input: number
  /** How many steps it counts as. */
  readonly steps: 0 | 1
  readonly price: Price | undefined
  /** The maximum useful output: the model's limit. `Infinity` if unknown. */
  readonly most: number
  /** The minimum output: with less it is not sent. */
  readonly least: number
  /** The output that it waits for while open requests may release it. */
  readonly preferred: number
}

const perToken = (price: Cost | undefined): Amount =>
  price === undefined ? zero : BigDecimal.multiply(toAmount(price) ?? zero, BigDecimal.make(1n, 6))

/** The maximum price of an input token: writing it to a cache may cost more. */
const inputPrice = (price: Price | undefined): Amount =>
  BigDecimal.max(perToken(price?.input), perToken(price?.cacheWrite))

const count = (tokens: number): Amount => BigDecimal.fromBigInt(BigInt(Math.ceil(tokens)))

/** How much a request with that much output takes of a bound. */
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

/** How much output a request may have if that much is free; below zero if even its input does not fit. */
export const outputWithin = (need: Need, bound: Bound, free: Amount): number => {
  const left = BigDecimal.unsafeToNumber(BigDecimal.subtract(free, amountOf(need, bound, 0)))
  if (left < 0) return -1
  if (bound === "tokens") return Math.floor(left)
  const price = bound === "usd" ? BigDecimal.unsafeToNumber(perToken(need.price?.output)) : 0
  return price === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / price)
}
