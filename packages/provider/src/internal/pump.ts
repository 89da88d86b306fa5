/** Reads the stream of a model of the AI SDK to its end and tells its parts as events. */
import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider"
import type { ModelEvent } from "@skein/core/Provider"
import type { Tokens } from "@skein/domain/Usage"
import { BrokenStream } from "./failure.ts"
import { cleanArguments, cleanText, makeDeltaCleaner } from "./wellFormed.ts"

type Part = LanguageModelV3StreamPart
type Finish = Extract<Part, { readonly type: "finish" }>
type Cleaner = ReturnType<typeof makeDeltaCleaner>

const activity: ModelEvent = { type: "activity" }

/** An error that the provider told in the middle of its answer. */
export class ErrorPart {
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

/** Ends with the last event told, or rejects with what went wrong; tells nothing once `signal` is aborted. */
export const pump = async (
  stream: ReadableStream<Part>,
  signal: AbortSignal,
  tell: (event: ModelEvent) => void
): Promise<void> => {
  const reader = stream.getReader()
  const teller = makeTeller(tell)
  let finish: Finish | undefined
  for (;;) {
    const { done, value } = await reader.read()
    if (signal.aborted) return
    if (done) break
    if (value.type === "error") {
      if (isUnfinished(value.error)) break
      throw new ErrorPart(value.error)
    }
    if (value.type === "finish") finish = value
    else teller.part(value)
  }
  if (finish === undefined || isTruncated(finish)) {
    throw teller.said()
      ? new BrokenStream("bad_response", "the stream ended without a reason to finish")
      : new BrokenStream("empty_response", "the stream ended with nothing in it")
  }
  if (finish.finishReason.unified === "error") {
    throw new BrokenStream("bad_response", "it finished with an error that it did not name")
  }
  teller.close()
  tell({ type: "finish", finish: finish.finishReason.unified, tokens: toTokens(finish.usage) })
}

/** The other way in which the AI SDK says so. */
const isUnfinished = (error: unknown): boolean =>
  error instanceof Error && error.name === "AI_InvalidResponseDataError" && "data" in error && error.data === undefined

/** The AI SDK says "other" without a reason of the server's where the server just stopped. */
const isTruncated = ({ finishReason: { raw, unified } }: Finish): boolean => unified === "other" && raw === undefined

/** Turns parts into events: well-formed text, and no text part before it has text. */
const makeTeller = (tell: (event: ModelEvent) => void) => {
  const open = new Map<string, { readonly kind: "text" | "reasoning"; readonly cleaner: Cleaner; begun: boolean }>()
  let spoke = false

  const begin = (kind: "text" | "reasoning", id: string) => {
    const entry = { kind, cleaner: makeDeltaCleaner(), begun: false }
    open.set(id, entry)
    return entry
  }
  const say = (kind: "text" | "reasoning", id: string, delta: string, entry: { begun: boolean }) => {
    if (delta === "") return tell(activity)
    spoke = true
    if (!entry.begun) {
      entry.begun = true
      tell({ type: `${kind}-start`, id })
    }
    tell({ type: `${kind}-delta`, id, delta })
  }
  const end = (kind: "text" | "reasoning", id: string, metadata?: Record<string, Record<string, unknown>>) => {
    const entry = open.get(id)
    if (entry === undefined) return
    open.delete(id)
    const rest = entry.cleaner.end()
    if (rest !== "") say(kind, id, rest, entry)
    if (kind === "text") {
      if (entry.begun) tell({ type: "text-end", id })
      return
    }
    // Reasoning without text still has to go back to its provider.
    if (!entry.begun && metadata === undefined) return
    if (!entry.begun) tell({ type: "reasoning-start", id })
    tell({ type: "reasoning-end", id, ...metadata === undefined ? {} : { metadata } })
  }

  return {
    part: (part: Part): void => {
      switch (part.type) {
        case "text-start":
          begin("text", part.id)
          return tell(activity)
        case "reasoning-start":
          begin("reasoning", part.id)
          return tell(activity)
        case "text-delta": {
          const entry = open.get(part.id) ?? begin("text", part.id)
          return say("text", part.id, entry.cleaner.push(part.delta), entry)
        }
        case "reasoning-delta": {
          const entry = open.get(part.id) ?? begin("reasoning", part.id)
          return say("reasoning", part.id, entry.cleaner.push(part.delta), entry)
        }
        case "text-end":
          return end("text", part.id)
        case "reasoning-end":
          return end("reasoning", part.id, part.providerMetadata)
        case "tool-call":
          // The provider ran it itself; its outcome is in the text.
          if (part.providerExecuted === true) return tell(activity)
          spoke = true
          return tell({
            type: "tool-call",
            id: cleanText(part.toolCallId),
            name: cleanText(part.toolName),
            input: cleanArguments(part.input)
          })
        case "stream-start":
          // The AI SDK says this by itself: it is no sign of life.
          return
        default:
          return tell(activity)
      }
    },
    said: (): boolean => spoke,
    /** Ends what the provider left open. */
    close: (): void => {
      for (const [id, { kind }] of open) end(kind, id)
    }
  }
}

/** Undefined where there is no usable count of both sides; details that make no sense are cut to what can be. */
const toTokens = ({ inputTokens, outputTokens }: LanguageModelV3Usage): Tokens | undefined => {
  const input = count(inputTokens.total)
  const output = count(outputTokens.total)
  // No request has an empty prompt: some servers send zeros for "I do not count".
  if (input === undefined || output === undefined || input + output === 0) return undefined
  const cacheRead = Math.min(count(inputTokens.cacheRead) ?? 0, input)
  return {
    input,
    output,
    reasoning: Math.min(count(outputTokens.reasoning) ?? 0, output),
    cacheRead,
    cacheWrite: Math.min(count(inputTokens.cacheWrite) ?? 0, input - cacheRead)
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : undefined
