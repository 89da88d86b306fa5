/** Reads a stream of the AI SDK to its end and emits its parts as events. */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import type { AnswerMeter } from "@skein/core/AnswerMeter"
import type { ModelEvent, ProviderMetadata } from "@skein/core/Provider"
import { type AnswerEmitter, makeAnswerEmitter } from "./answerEmitter.ts"
import { TooLarge } from "./errors.ts"
import { toTokens } from "./tokens.ts"

type Part = LanguageModelV3StreamPart
type Finish = Extract<Part, { readonly type: "finish" }>

/** An error that the provider sent in the middle of an answer. */
export class ErrorPart {
  readonly error: unknown
  constructor(error: unknown) {
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
  const emission: Emission = { emitter, metadata: new Map(), pieces: new Set(), calls: [] }
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
  const flaw = emitter.flaw(finish?.finishReason.unified, emission.calls.length > 0)
  if (flaw !== undefined) throw flaw
  if (finish === undefined) return
  emitter.close()
  for (const call of emission.calls) call()
  const { finishReason, usage: { inputTokens, outputTokens } } = finish
  const tokens = toTokens({
    input: inputTokens.total,
    output: outputTokens.total,
    reasoning: outputTokens.reasoning,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite
  })
  // If there are calls, an unknown finish reason does not matter.
  const named = finishReason.unified === "other" && emission.calls.length > 0 ? "tool-calls" : finishReason.unified
  emit({ type: "finish", finish: named, tokens })
}

/** If the server just stops, the AI SDK says "other" without a raw reason. */
const isTruncated = ({ finishReason: { raw, unified } }: Finish): boolean => unified === "other" && raw === undefined

/** The other way in which the AI SDK reports this. */
const isUnfinished = (error: unknown): boolean =>
  error instanceof Error && error.name === "AI_InvalidResponseDataError" && "data" in error && error.data === undefined

/** Counts the pieces of a call as they arrive, and calls that arrive whole. */
const measure = (meter: AnswerMeter, { pieces }: Emission, part: Part): void => {
  if (part.type === "text-delta" || part.type === "reasoning-delta") meter.text(part.delta)
  else if (part.type === "tool-input-start") {
    pieces.add(part.id)
    meter.call()
  } else if (part.type === "tool-input-delta") meter.arguments(part.delta)
  else if (part.type === "tool-call" && !pieces.has(part.toolCallId)) {
    meter.call()
    meter.arguments(part.input)
  }
}

/** An answer that is being emission. */
interface Emission {
  readonly emitter: AnswerEmitter
  /** What the provider wants back with each open part. */
  readonly metadata: Map<string, ProviderMetadata>
  /** The calls that arrived in pieces. */
  readonly pieces: Set<string>
  /** Tells a call. Calls are held back until the end: nothing of an answer that fails may run. */
  readonly calls: Array<() => void>
}

/** Providers attach metadata to the start, any piece or the end of a part: collects all of it until the end. */
const collect = ({ metadata }: Emission, key: string, more: ProviderMetadata | undefined): void => {
  if (more === undefined) return
  const merged: ProviderMetadata = { ...metadata.get(key) }
  for (const [provider, fields] of Object.entries(more)) merged[provider] = { ...merged[provider], ...fields }
  metadata.set(key, merged)
}

const takeCollected = ({ metadata }: Emission, key: string): ProviderMetadata | undefined => {
  const found = metadata.get(key)
  metadata.delete(key)
  return found
}

/** Of the metadata of texts and calls, only signatures have to go back. Other fields may not even be accepted. */
const signatureIn = (metadata: ProviderMetadata | undefined): ProviderMetadata | undefined => {
  const signed = Object.entries(metadata ?? {}).flatMap(([provider, { thoughtSignature }]) =>
    typeof thoughtSignature === "string" ? [[provider, { thoughtSignature }] as const] : []
  )
  return signed.length === 0 ? undefined : Object.fromEntries(signed)
}

const tellPart = (emission: Emission, part: Part): void => {
  const { emitter } = emission
  switch (part.type) {
    case "text-start":
      emitter.begin("text", part.id)
      return collect(emission, `text:${part.id}`, part.providerMetadata)
    case "reasoning-start":
      emitter.begin("reasoning", part.id)
      return collect(emission, `reasoning:${part.id}`, part.providerMetadata)
    case "text-delta":
      collect(emission, `text:${part.id}`, part.providerMetadata)
      return emitter.say("text", part.id, part.delta)
    case "reasoning-delta":
      collect(emission, `reasoning:${part.id}`, part.providerMetadata)
      return emitter.say("reasoning", part.id, part.delta)
    case "text-end":
      collect(emission, `text:${part.id}`, part.providerMetadata)
      return emitter.end(part.id, signatureIn(takeCollected(emission, `text:${part.id}`)))
    case "reasoning-end":
      collect(emission, `reasoning:${part.id}`, part.providerMetadata)
      return emitter.end(part.id, takeCollected(emission, `reasoning:${part.id}`))
    case "tool-call":
      // The provider ran this call itself. Its result is in the text.
      if (part.providerExecuted === true) return emitter.alive()
      emission.calls.push(() =>
        emitter.call(part.toolCallId, part.toolName, part.input, signatureIn(part.providerMetadata))
      )
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
