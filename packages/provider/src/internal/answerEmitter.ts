/** Emits one answer as events: well-formed text, no empty parts, and calls that can be stored. */
import type { ModelEvent, ProviderMetadata } from "@skein/core/Provider"
import type { FinishReason } from "@skein/domain/Message"
import { BrokenStream } from "./errors.ts"
import { cleanArguments, cleanText, makeDeltaCleaner } from "./wellFormed.ts"

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
