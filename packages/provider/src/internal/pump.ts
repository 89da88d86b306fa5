/** Reads a stream of the AI SDK to its end and emits its parts as events. */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import type { AnswerMeter } from "@skein/core/AnswerMeter"
import type { ModelEvent } from "@skein/core/Provider"
import { TooLarge } from "./errors.ts"
import { makeTeller, type Teller } from "./teller.ts"
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
  tell: (event: ModelEvent) => void
): Promise<void> => {
  const reader = stream.getReader()
  const teller = makeTeller(tell)
  let last: Finish | undefined
  for (;;) {
    const { done, value } = await reader.read()
    if (signal.aborted) return
    if (done) break
    if (value.type === "error") {
      if (isUnfinished(value.error)) break
      throw new ErrorPart(value.error)
    }
    measure(meter, value)
    if (meter.excess !== undefined) throw new TooLarge(meter.excess)
    if (value.type === "finish") last = value
    else tellPart(teller, value)
  }
  const finish = last === undefined || isTruncated(last) ? undefined : last
  const flaw = teller.flaw(finish?.finishReason.unified)
  if (flaw !== undefined) throw flaw
  if (finish === undefined) return
  teller.close()
  const { finishReason, usage: { inputTokens, outputTokens } } = finish
  const tokens = toTokens({
    input: inputTokens.total,
    output: outputTokens.total,
    reasoning: outputTokens.reasoning,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite
  })
  tell({ type: "finish", finish: finishReason.unified, tokens })
}

/** If the server just stops, the AI SDK says "other" without a raw reason. */
const isTruncated = ({ finishReason: { raw, unified } }: Finish): boolean => unified === "other" && raw === undefined

/** The other way in which the AI SDK reports this. */
const isUnfinished = (error: unknown): boolean =>
  error instanceof Error && error.name === "AI_InvalidResponseDataError" && "data" in error && error.data === undefined

/** Counts the pieces of a call as they arrive, because the AI SDK emits the whole call only at its end. */
const measure = (meter: AnswerMeter, part: Part): void => {
  if (part.type === "text-delta" || part.type === "reasoning-delta") meter.text(part.delta)
  else if (part.type === "tool-input-start") meter.call()
  else if (part.type === "tool-input-delta") meter.arguments(part.delta)
}

const tellPart = (teller: Teller, part: Part): void => {
  switch (part.type) {
    case "text-start":
      teller.begin("text", part.id)
      return
    case "reasoning-start":
      teller.begin("reasoning", part.id)
      return
    case "text-delta":
      return teller.say("text", part.id, part.delta)
    case "reasoning-delta":
      return teller.say("reasoning", part.id, part.delta)
    case "text-end":
      return teller.end(part.id)
    case "reasoning-end":
      return teller.end(part.id, part.providerMetadata)
    case "tool-call":
      // The provider ran this call itself. Its result is in the text.
      if (part.providerExecuted === true) return teller.alive()
      return teller.call(part.toolCallId, part.toolName, part.input)
    case "tool-input-delta":
      return part.delta === "" ? undefined : teller.alive()
    case "tool-input-start":
    case "source":
    case "file":
      return teller.alive()
    default:
      // Not content, so no sign of progress: it could go on for ever.
      return
  }
}
