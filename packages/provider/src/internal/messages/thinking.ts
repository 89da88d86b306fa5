/** Decides how much a model of Anthropic thinks, which each generation configures differently. */
import type { JSONObject } from "@ai-sdk/provider"
import type { ModelRequest } from "@skein/core/Provider"
import { Unaskable } from "../errors.ts"
import { unknownVariant } from "../failure.ts"

/** What a request says about thinking, and its maximum of tokens besides a budget for thinking. */
interface Thinking {
  readonly options: JSONObject
  readonly maxOutputTokens?: number | undefined
}

const efforts = ["none", "low", "medium", "high", "xhigh", "max"]

/** Models up to 4.5, which think within a budget of tokens, on request. */
const budgeted = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/

/** Models whose sampling can be set, but not while they think. */
const sampled = /claude-(?:opus|sonnet)-4-6/

/** Models that bind their thinking to the conversation so far: they refuse it if anything before it has changed. */
const bound = /claude-(?:(?:opus|sonnet|haiku)-(?:5-[5-9]|[6-9])|(?:fable|mythos)-(?:5-[1-9]|[6-9]))/

/** Budgets by variant, in tokens. */
const budgets: Readonly<Record<string, number>> = {
  low: 4_000,
  medium: 10_000,
  high: 24_000,
  xhigh: 31_999,
  max: 31_999
}

/** The smallest budget that the API takes, and what at least has to be left for the answer. */
const smallest = 1_024

const budgetFor = (variant: string | undefined, cap: number | undefined): Thinking => {
  const wished = variant === undefined ? undefined : budgets[variant]
  const budget = wished === undefined ? 0 : Math.min(wished, (cap ?? Infinity) - smallest)
  if (budget < smallest) return { options: {}, maxOutputTokens: cap }
  // The AI SDK adds the budget to the maximum.
  return {
    options: { thinking: { type: "enabled", budgetTokens: budget } },
    maxOutputTokens: cap === undefined ? undefined : cap - budget
  }
}

/**
 * The options of the AI SDK for thinking; throws `Unaskable` for an unknown variant. `cap` is the maximum of an answer,
 * including what is thought. Older models refuse to think where the calls before were made without. Newer models think as much as they see fit, by default: this asks for summaries to show.
 */
export const thinkingOf = (
  modelID: string,
  { origin, temperature, topP, variant }: ModelRequest,
  cap: number | undefined,
  hasNotThought = false
): Thinking => {
  if (variant !== undefined && !efforts.includes(variant)) {
    throw new Unaskable(`it knows the efforts ${efforts.join(", ")}, and no ${variant}`, unknownVariant)
  }
  if (!modelID.includes("claude-") || budgeted.test(modelID)) {
    return budgetFor(hasNotThought ? undefined : variant, cap)
  }
  const plain = { maxOutputTokens: cap }
  // A title needs no thought.
  const wished = variant ?? (origin.purpose === "title" ? "none" : undefined)
  if (wished === "none") return { options: { thinking: { type: "disabled" }, effort: "low" }, ...plain }
  if (wished === undefined && sampled.test(modelID) && (temperature ?? topP) !== undefined) {
    return { options: {}, ...plain }
  }
  return {
    options: {
      thinking: {
        type: "adaptive",
        display: "summarized",
        // Compaction and a new date change what stands before.
        ...bound.test(modelID) ? { blockBinding: { prefixMismatchBehavior: "drop_block" } } : {}
      },
      ...wished === undefined ? {} : { effort: wished }
    },
    ...plain
  }
}
