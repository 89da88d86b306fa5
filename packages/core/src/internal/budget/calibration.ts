/** Owns what earlier requests of a tree show about models: how they count tokens, and where a budget cut them off. */
import type { BudgetNode } from "./BudgetNode.ts"

/** Notes how many tokens a model counted for one estimated token. */
export const noteRate = (node: BudgetNode, model: string, rate: number): void => {
  node.rates.set(model, rate)
}

/** How many tokens a model counts for one estimated token; undefined if unknown. */
export const rateOf = (node: BudgetNode, model: string): number | undefined => node.rates.get(model)

/** Notes the token count at which a budget cut off the last answer; 0 if none did. */
export const noteCutOff = (node: BudgetNode, tokens: number): void => {
  node.cutAt = tokens
}
