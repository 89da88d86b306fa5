/** Decides which counts of a provider are believed. */
import type { Tokens } from "@skein/domain/Usage"

/** What a provider counted, or something else in its place. */
export interface Counts {
  readonly input: unknown
  readonly output: unknown
  readonly reasoning: unknown
  readonly cacheRead: unknown
  readonly cacheWrite: unknown
}

/** Undefined where there is no usable count of both sides; details that make no sense are cut to what can be. */
export const toTokens = (counts: Counts): Tokens | undefined => {
  const input = count(counts.input)
  const output = count(counts.output)
  // No request has an empty prompt: some servers send zeros for "I do not count".
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
