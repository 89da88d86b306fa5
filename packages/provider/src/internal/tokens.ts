/** Decides which token counts of a provider to trust. */
import type { Tokens } from "@skein/domain/Usage"

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
