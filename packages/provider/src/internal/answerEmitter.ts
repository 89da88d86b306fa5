/**
 * Emits one answer as events: well-formed text, no empty parts, calls that can be stored, and counts and costs that can
 * be trusted.
 */
import type { ModelEvent, ProviderMetadata } from "@skein/core/Provider"
import type { FinishReason } from "@skein/domain/Message"
import { addCost, type Cost, costSaid, type Tokens } from "@skein/domain/Usage"
import { BrokenStream } from "./errors.ts"
import { cleanArguments, cleanText, type Fields, fields, makeDeltaCleaner } from "./json.ts"

/** What a provider reports; the values may be nonsense. */
interface Counts {
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

type Kind = "text" | "reasoning"

interface OpenPart {
  readonly kind: Kind
  readonly cleaner: ReturnType<typeof makeDeltaCleaner>
  begun: boolean
}

const ends: Readonly<Partial<Record<FinishReason, RegExp>>> = {
  stop: /^(?:stop|end_turn|stop_sequence|eos|eos_token|complete)$/i,
  "tool-calls": /^(?:tool_calls?|function_call|tool_use)$/i,
  length: /^(?:length|max_tokens|max_output_tokens|model_length)$/i,
  "content-filter": /^(?:content_filter(?:ed)?|sensitive|safety|refusal|recitation|guardrail_intervened)$/i,
  pause: /^pause_turn$/i,
  error: /^error$/i
}

/**
 * Why an answer ended, by the server's word for it. Undefined if that is none of the reasons for which an answer is
 * complete: the server broke it off, such as by `network_error`, `abort` or `insufficient_system_resource`.
 */
export const endOf = (raw: string): FinishReason | undefined =>
  (Object.keys(ends) as ReadonlyArray<FinishReason>).find((finish) => ends[finish]?.test(raw))

const activity: ModelEvent = { type: "activity" }

/** The input of the emitter, from the reader of a stream. */
export type AnswerEmitter = ReturnType<typeof makeAnswerEmitter>

/** Emits the events of one answer. */
export const makeAnswerEmitter = (emit: (event: ModelEvent) => void) => {
  const open = new Map<string, OpenPart>()
  let spoke = false

  const begin = (kind: Kind, id: string): OpenPart => {
    const part = { kind, cleaner: makeDeltaCleaner(), begun: false }
    open.set(id, part)
    return part
  }
  const say = (kind: Kind, id: string, delta: string, part: OpenPart): void => {
    if (delta === "") return
    spoke = true
    if (!part.begun) {
      part.begun = true
      emit({ type: `${kind}-start`, id })
    }
    emit({ type: `${kind}-delta`, id, delta })
  }
  const end = (id: string, metadata?: ProviderMetadata): void => {
    const part = open.get(id)
    if (part === undefined) return
    open.delete(id)
    const rest = part.cleaner.end()
    if (rest !== "") say(part.kind, id, rest, part)
    const kept = metadata === undefined ? {} : { metadata }
    if (part.kind === "text") {
      if (part.begun) emit({ type: "text-end", id, ...kept })
      return
    }
    // Reasoning without text still has to go back to its provider.
    if (!part.begun && metadata === undefined) return
    if (!part.begun) emit({ type: "reasoning-start", id })
    emit({ type: "reasoning-end", id, ...kept })
  }

  return {
    /** Whether it has said or called anything. */
    get spoke(): boolean {
      return spoke
    },
    /** Reports progress on content that is emitted later. */
    alive: (): void => emit(activity),
    begin,
    /** Continues a part, or begins it if it is new. */
    say: (kind: Kind, id: string, delta: string): void => {
      const part = open.get(id) ?? begin(kind, id)
      say(kind, id, part.cleaner.push(delta), part)
    },
    end,
    call: (id: string, name: string, input: string, metadata?: ProviderMetadata, fault?: string): void => {
      spoke = true
      emit({
        type: "tool-call",
        id: cleanText(id),
        name: cleanText(name),
        input: cleanArguments(input),
        ...metadata === undefined ? {} : { metadata },
        ...fault === undefined ? {} : { fault }
      })
    },
    /**
     * What is wrong with an answer that ends now, for this reason; `more` arrived without being emitted. `raw` is the
     * server's word for the reason.
     */
    flaw: (finish: FinishReason | undefined, more = false, raw?: string): BrokenStream | undefined => {
      if (finish === "error") return new BrokenStream("bad_response", "it finished with an error that it did not name")
      if (finish !== undefined) return undefined
      if (raw !== undefined) return new BrokenStream("bad_response", `it ended for the reason ${raw}`)
      return spoke || more
        ? new BrokenStream("bad_response", "the stream ended without a reason to finish")
        : new BrokenStream("empty_response", "the stream ended with nothing in it")
    },
    /** Ends the parts that the provider left open. */
    close: (): void => {
      for (const id of open.keys()) end(id)
    }
  }
}
