/** Decides which counts and costs of a provider to trust. */
import { addCost, type Cost, costSaid, type Tokens } from "@skein/domain/Usage"
import { type Fields, fields } from "./json.ts"

/** What a provider reports; the values may be nonsense. */
export interface Counts {
  readonly input: unknown
  readonly output: unknown
  readonly reasoning: unknown
  readonly cacheRead: unknown
  readonly cacheWrite: unknown
}

/** Undefined unless input and output are both usable. Impossible details are clamped. */
export const toTokens = (counts: Counts): Tokens | undefined => {
  const input = count(counts.input)
  const output = count(counts.output)
  // No prompt is empty: some servers send zeros when they do not count.
  if (input === undefined || output === undefined || input + output === 0) return undefined
  const cacheRead = Math.min(count(counts.cacheRead) ?? 0, input)
  return {
    input,
    output,
    reasoning: Math.min(count(counts.reasoning) ?? 0, output),
    cacheRead,
    cacheWrite: Math.min(count(counts.cacheWrite) ?? 0, input - cacheRead)
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : undefined

/** What xAI calls a tick, in USD. */
const tick = 1e-10

/** What a provider says that an answer cost. With a key of the user's own at another provider, that costs as well. */
export const costIn = (usage: Fields): Cost | undefined => {
  const { cost, cost_details, cost_in_usd_ticks: ticks, is_byok } = usage
  const said = costSaid(fields(cost)?.["total_cost"] ?? cost)
  const behind = is_byok === true ? costSaid(fields(cost_details)?.["upstream_inference_cost"]) : undefined
  if (said !== undefined) return behind === undefined ? said : addCost(said, behind)
  return typeof ticks === "number" && Number.isSafeInteger(ticks) ? costSaid((ticks * tick).toFixed(10)) : undefined
}
