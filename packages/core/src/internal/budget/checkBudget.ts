/** Decides whether a budget from a program is valid: a value that is not a number would limit nothing. */
import { type Budget, isBudget } from "@skein/domain/Budget"
import * as Effect from "effect/Effect"
import { BudgetInvalid } from "../../SessionError.ts"

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => typeof each === "number" ? String(each) : each)

/** Why a value is not a budget; undefined if it is one. */
export const budgetFault = (budget: Budget): string | undefined =>
  isBudget(budget) ?
    undefined :
    `A budget has amounts above 0 (tokens, usd, steps, time, tasks): ${
      shown(budget)
    } is none. Leave out what is not to be bounded.`

/** Fails if a value is not a valid budget. */
export const checkBudget = (budget: Budget | undefined): Effect.Effect<void, BudgetInvalid> => {
  const message = budget === undefined ? undefined : budgetFault(budget)
  return message === undefined ? Effect.void : new BudgetInvalid({ message })
}
