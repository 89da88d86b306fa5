/** Owns what was learnt of models from earlier requests of a tree: how they count, and where a budget cut them off. */
import { type BudgetNode, rootOf } from "./BudgetNode.ts"

/** Notes how many tokens a model counted for what was estimated as one. */
export const noteRate = (node: BudgetNode, model: string, rate: number): void => {
  rootOf(node).rates.set(model, rate)
}

/** How many tokens a model counts for what is estimated as one; undefined where nobody has seen that. */
export const rateOf = (node: BudgetNode, model: string): number | undefined => rootOf(node).rates.get(model)

/** Notes at how many tokens a budget cut off the last answer; 0 where none did. */
export const noteCutOff = (node: BudgetNode, tokens: number): void => {
  node.cutAt = tokens
}
