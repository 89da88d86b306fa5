/** Reads a stream of the AI SDK to its end and emits its parts as events. */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import type { AnswerMeter, ModelEvent, ProviderMetadata } from "@skein/core/Provider"
import type { FinishReason } from "@skein/domain/Message"
import type { Cost } from "@skein/domain/Usage"
import { type AnswerEmitter, costIn, endOf, makeAnswerEmitter, toTokens } from "./answerEmitter.ts"
import { BrokenStream, TooLarge } from "./errors.ts"
import { fields } from "./json.ts"

type Part = LanguageModelV3StreamPart
type Finish = Extract<Part, { readonly type: "finish" }>

/** An error that the provider sent in the middle of an answer. */
export class ErrorPart extends Error {
  readonly error: unknown
  constructor(error: unknown) {
    super("an error part")
    this.error = error
  }
}

/** Resolves after the last event, or rejects with the error. Emits nothing once `signal` is aborted. */
export const pump = async (
  stream: ReadableStream<Part>,
  signal: AbortSignal,
  meter: AnswerMeter,
  emit: (event: ModelEvent) => void
): Promise<void> => {
  const reader = stream.getReader()
  const emitter = makeAnswerEmitter(emit)
  const emission: Emission = {
    emitter,
    metadata: new Map(),
    pieces: new Set(),
    open: new Set(),
    held: [],
    later: new Set()
  }
  let last: Finish | undefined
  for (;;) {
    const { done, value } = await reader.read()
    if (signal.aborted) return
    if (done) break
    if (value.type === "error") {
      if (isUnfinished(value.error)) break
      throw new ErrorPart(value.error)
    }
    measure(meter, emission, value)
    if (meter.excess !== undefined) throw new TooLarge(meter.excess)
    if (value.type === "finish") last = value
    else tellPart(emission, value)
  }
  const finish = last === undefined || isTruncated(last) ? undefined : last
  const flaw = flawOf(emission, finish)
  const tokens = last === undefined
    ? undefined
    : tokensOf(last, emitter.spoke || emission.held.length + emission.open.size > 0)
  if (flaw !== undefined) {
    if (tokens !== undefined) emit({ type: "usage", tokens, ...costOf(last) })
    throw flaw
  }
  if (finish === undefined) return
  for (const tell of emission.held) tell()
  emitter.close()
  emit({ type: "finish", finish: reasonOf(finish, emission.held.length > 0), tokens, ...costOf(finish) })
}

/** What a gateway says that the answer cost. */
const costOf = (last: Finish | undefined): { readonly cost?: Cost } => {
  const [cost] = Object.values(last?.providerMetadata ?? {}).flatMap((metadata) =>
    costIn(fields(metadata["usage"]) ?? {}) ?? costIn(metadata) ?? []
  )
  return cost === undefined ? {} : { cost }
}

/** The AI SDK counts a pause as an end, and some reasons that are known as others. */
const reasonOf = ({ finishReason: { raw, unified } }: Finish, calls: boolean): FinishReason => {
  const known = raw === undefined ? undefined : endOf(raw)
  if (known === "pause") return calls ? "tool-calls" : "pause"
  return unified === "other" ? known ?? "other" : unified
}

/** Of an answer that says something, a count of 0 is none. */
const tokensOf = ({ usage: { inputTokens, outputTokens } }: Finish, spoke: boolean) =>
  toTokens({
    input: inputTokens.total,
    output: spoke && outputTokens.total === 0 ? undefined : outputTokens.total,
    reasoning: outputTokens.reasoning,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite
  })

/** Reasons for which Google's models end an answer that went wrong; the AI SDK counts most of them as normal ends. */
const mishap = /^(?:MALFORMED|UNEXPECTED|MISSING|TOO_MANY)_/

/** What is wrong with an answer that ends so. */
const flawOf = ({ emitter, held, open }: Emission, finish: Finish | undefined): Error | undefined => {
  const { raw, unified } = finish?.finishReason ?? {}
  if (raw === "model_context_window_exceeded") {
    return new ErrorPart({ code: raw, message: "no room was left for its answer" })
  }
  if (raw !== undefined && (mishap.test(raw) || unified === "error")) {
    return new BrokenStream("bad_response", `it ended for the reason ${raw}`)
  }
  // The AI SDK calls the end of an answer with calls a normal one, whatever broke it off.
  if (raw !== undefined && (unified === "other" || unified === "tool-calls") && endOf(raw) === undefined) {
    return emitter.flaw(undefined, true, raw)
  }
  // An answer that is cut off may end in a call.
  const isCut = unified === "length" || unified === "content-filter"
  if (finish !== undefined && open.size > 0 && !isCut) {
    return new BrokenStream("bad_response", "a call in it has no end")
  }
  return emitter.flaw(unified, held.length > 0)
}

/** If the server just stops, the AI SDK says "other" without a raw reason. */
const isTruncated = ({ finishReason: { raw, unified } }: Finish): boolean => unified === "other" && raw === undefined

/** The other way in which the AI SDK reports this. */
const isUnfinished = (error: unknown): boolean =>
  error instanceof Error && error.name === "AI_InvalidResponseDataError" && "data" in error && error.data === undefined

/** Counts the pieces of a call as they arrive, and calls that arrive whole. */
const measure = (meter: AnswerMeter, { open, pieces }: Emission, part: Part): void => {
  if (part.type === "text-delta" || part.type === "reasoning-delta") meter.text(part.delta)
  else if (part.type === "tool-input-start") {
    pieces.add(part.id)
    meter.call()
    open.add(part.id)
  } else if (part.type === "tool-input-delta") meter.arguments(part.delta)
  else if (part.type === "tool-call" && !pieces.has(part.toolCallId)) {
    meter.call()
    meter.arguments(part.input)
  }
}

/** An answer that is being emitted. */
interface Emission {
  readonly emitter: AnswerEmitter
  /** What the provider wants back with each open part. */
  readonly metadata: Map<string, ProviderMetadata>
  /** The calls that arrived in pieces. */
  readonly pieces: Set<string>
  /** The calls of which the end has not arrived. */
  readonly open: Set<string>
  /**
   * Tells calls, and what began after one. Calls are held back until the end: nothing of an answer that fails may run.
   * What follows them waits too, since providers want everything back in its order.
   */
  readonly held: Array<() => void>
  /** The texts and reasonings that began after a call. */
  readonly later: Set<string>
}

/** Providers attach metadata to the start, any piece or the end of a part: collects all of it until the end. */
const collect = ({ metadata }: Emission, key: string, more: ProviderMetadata | undefined): void => {
  if (more === undefined) return
  const merged: ProviderMetadata = { ...metadata.get(key) }
  for (const [provider, each] of Object.entries(more)) merged[provider] = { ...merged[provider], ...each }
  metadata.set(key, merged)
}

const takeCollected = ({ metadata }: Emission, key: string): ProviderMetadata | undefined => {
  const found = metadata.get(key)
  metadata.delete(key)
  return found
}

/**
 * Of the metadata of texts and calls, all goes back except what refers to the server's copy of the answer, in which calls
 * have other ids than here, and what is only to be shown.
 */
const unwanted = new Set(["itemId", "annotations", "logprobs"])

const wantedIn = (metadata: ProviderMetadata | undefined): ProviderMetadata | undefined => {
  const kept = Object.entries(metadata ?? {}).flatMap(([provider, all]) => {
    const found = Object.entries(all).filter(([name, value]) =>
      !unwanted.has(name) && value !== undefined && value !== null
    )
    return found.length === 0 ? [] : [[provider, Object.fromEntries(found)] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** Tells a piece of a text or a reasoning, or holds it back if that began after a call. */
const tellPiece = ({ emitter, held, later }: Emission, key: string, tell: () => void): void => {
  if (!later.has(key)) return tell()
  held.push(tell)
  emitter.alive()
}

const tellPart = (emission: Emission, part: Part): void => {
  const { emitter, held, later, open } = emission
  switch (part.type) {
    case "text-start":
    case "reasoning-start": {
      const kind = part.type === "text-start" ? "text" : "reasoning"
      const key = `${kind}:${part.id}`
      if (held.length > 0) later.add(key)
      collect(emission, key, part.providerMetadata)
      return tellPiece(emission, key, () => void emitter.begin(kind, part.id))
    }
    case "text-delta":
    case "reasoning-delta": {
      const kind = part.type === "text-delta" ? "text" : "reasoning"
      const key = `${kind}:${part.id}`
      collect(emission, key, part.providerMetadata)
      return tellPiece(emission, key, () => emitter.say(kind, part.id, part.delta))
    }
    case "text-end":
    case "reasoning-end": {
      const key = `${part.type === "text-end" ? "text" : "reasoning"}:${part.id}`
      collect(emission, key, part.providerMetadata)
      const found = takeCollected(emission, key)
      return tellPiece(emission, key, () => emitter.end(part.id, part.type === "text-end" ? wantedIn(found) : found))
    }
    case "tool-call":
      open.delete(part.toolCallId)
      // The provider ran this call itself. Its result is in the text.
      if (part.providerExecuted === true) return emitter.alive()
      held.push(() => emitter.call(part.toolCallId, part.toolName, part.input, wantedIn(part.providerMetadata)))
      return emitter.alive()
    case "tool-input-delta":
      return part.delta === "" ? undefined : emitter.alive()
    case "tool-input-start":
    case "source":
    case "file":
      return emitter.alive()
    default:
      // Not content, so no sign of progress: it could continue forever.
      return
  }
}
