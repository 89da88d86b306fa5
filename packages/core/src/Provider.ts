/**
 * Owns the access to models: turns `provider/model` into something that streams typed events, and measures an answer as
 * it arrives.
 */
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import type { SessionID } from "@skein/domain/Id"
import { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelInfo, type ModelRef } from "@skein/domain/Model"
import type { Cost, Tokens } from "@skein/domain/Usage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { isTextNested } from "./Nesting.ts"

/** The model is not available: an unknown provider or model, or a missing key. The message says how to fix it. */
export class ModelUnavailable extends Schema.TaggedError<ModelUnavailable>()("ModelUnavailable", {
  model: Schema.String,
  reason: Schema.Literal("unknown_provider", "unknown_model", "no_key", "bad_config", "unknown_price"),
  message: Schema.String
}) {}

/** The kind of failure of a request. */
export const ModelErrorReason = Schema.Literal(
  /** 429. */
  "rate_limit",
  /** 529, or an error event that says so. */
  "overloaded",
  /** Any other 5xx. */
  "server",
  /** Refused, reset, cut off, DNS or TLS. */
  "network",
  /** No connection, no first event, or no further event in time. */
  "timeout",
  /** 401 or 403. */
  "auth",
  /** Any other 4xx. */
  "invalid_request",
  /** The provider refuses reasoning, or a signature, of an earlier answer. */
  "reasoning_refused",
  /** The conversation exceeds the context of the model. */
  "context_overflow",
  /** The stream violated its protocol: no JSON, no finish, or an unknown shape. */
  "bad_response",
  /** The stream ended properly but had no content. */
  "empty_response",
  /** The answer exceeds `limits.answer`. */
  "AnswerTooLarge"
)

/** A model request failed. `message` never contains a key. */
export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelErrorReason,
  /** Whether the same request may succeed later. */
  retryable: Schema.Boolean,
  message: Schema.String,
  /** The HTTP status, if there was one. */
  status: Schema.optional(Schema.Number),
  /** The provider's reason for the end, if the answer ended properly. */
  finish: Schema.optional(FinishReason),
  /** How long the provider asked to wait, in milliseconds. */
  retryAfter: Schema.optional(Schema.Number),
  /** The number of such failures in a row after which to give up, if that is fewer than usual. */
  tries: Schema.optional(Schema.Number)
}) {}

/** What a provider wants back with something that its model said, by provider: signatures above all. */
export type ProviderMetadata = Record<string, Record<string, unknown>>

/** Text in a prompt. */
export interface TextContent {
  readonly type: "text"
  readonly text: string
  readonly providerOptions?: ProviderMetadata
}
/** A file in a prompt; `data` is a URL or base64. */
export interface FileContent {
  readonly type: "file"
  readonly data: string
  readonly mediaType: string
  readonly filename?: string
}
/** Reasoning of an earlier step, with what its provider needs to accept it again. */
export interface ReasoningContent {
  readonly type: "reasoning"
  readonly text: string
  readonly providerOptions?: ProviderMetadata
}
/** A call of an earlier step. */
export interface ToolCallContent {
  readonly type: "tool-call"
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly providerOptions?: ProviderMetadata
}
/** The result of a call of an earlier step. */
export interface ToolResultContent {
  readonly type: "tool-result"
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: "text" | "error-text"; readonly value: string }
}

/**
 * A message of a prompt; every `tool-call` has its `tool-result` in the tool message that follows. An assistant message
 * names the model that said it: reasoning and `providerOptions` go back to that model alone.
 */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: ReadonlyArray<TextContent | FileContent> }
  | {
    readonly role: "assistant"
    readonly content: ReadonlyArray<TextContent | ReasoningContent | ToolCallContent>
    readonly model?: ModelRef
  }
  | { readonly role: "tool"; readonly content: ReadonlyArray<ToolResultContent> }

/** A tool as a model sees it; `inputSchema` is a JSON Schema (draft 7) of an object. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
}

/** Who asks, for scripts, cassettes and tracing. The model does not read it. */
export interface RequestOrigin {
  readonly sessionID: SessionID
  readonly rootID: SessionID
  /** The session of which this one is a copy: its requests began in the same way. */
  readonly cachedAs?: SessionID | undefined
  /** The names of the agents from the root to this one. */
  readonly path: ReadonlyArray<string>
  /** Counts the requests of one session's turns from 0; a retry has the number of what it retries. */
  readonly step: number
  readonly directory: string
  readonly purpose: "turn" | "title" | "summary" | "compaction"
}

/** One request to a model. */
export interface ModelRequest {
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tools: ReadonlyArray<ToolSpec>
  readonly toolChoice: "auto" | "none" | "required"
  readonly temperature?: number
  readonly topP?: number
  readonly variant?: string
  /** The limits of an answer, for models that assemble it from pieces. */
  readonly bounds?: AnswerBounds
  /** The maximum tokens of the answer, including reasoning; if absent, the provider decides. */
  readonly maxOutputTokens?: number
  readonly origin: RequestOrigin
}

/** The message for an answer that exceeds them. */
export const answerTooLarge = (info: ModelInfo, excess: string): ModelError =>
  new ModelError({
    reason: "AnswerTooLarge",
    retryable: false,
    message: `${formatRef(info)} gave an answer that is too large: ${excess}. Nothing of it was run.`
  })

/**
 * What a model says while it answers. `connected` comes first, once, when the connection is established. `activity`
 * reports progress on content that is emitted later, such as arguments of a call; empty pieces and keep-alives are not
 * reported.
 */
export type ModelEvent =
  | { readonly type: "connected" }
  | { readonly type: "activity" }
  | { readonly type: "text-start"; readonly id: string }
  | { readonly type: "text-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "text-end"; readonly id: string; readonly metadata?: ProviderMetadata }
  | { readonly type: "reasoning-start"; readonly id: string }
  | { readonly type: "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "reasoning-end"; readonly id: string; readonly metadata?: ProviderMetadata }
  | {
    readonly type: "tool-call"
    readonly id: string
    readonly name: string
    readonly input: string
    readonly metadata?: ProviderMetadata
    /** Why the server refused the call: it does not run, and the model learns why. */
    readonly fault?: string
  }
  | {
    /** What an answer used that fails next: it has to be paid for. */
    readonly type: "usage"
    readonly tokens: Tokens
    readonly cost?: Cost | undefined
  }
  | {
    readonly type: "finish"
    readonly finish: FinishReason
    /** Undefined if the provider reported nothing usable. */
    readonly tokens: Tokens | undefined
    /** What the provider says that the answer cost, in USD. Otherwise the price of the model decides. */
    readonly cost?: Cost | undefined
  }

/** A model that can be asked. */
export interface LanguageModel {
  readonly info: ModelInfo
  /** Identifies what shares a rate limit: provider, model and key (as a fingerprint, never the key itself). */
  readonly limitKey: string
  /** The deadline for the first content, in milliseconds; `deadlines.first_event` if absent. */
  readonly firstEvent?: number | undefined
  /**
   * Asks once, without retry. `emit` is called for each event in order, at once, and never after the effect has ended;
   * it must not throw. A successful answer ends with `finish`. Interruption closes the request.
   */
  readonly stream: (request: ModelRequest, emit: (event: ModelEvent) => void) => Effect.Effect<void, ModelError>
}

/** Whether an event carries content, which alone shows that a model is at work. */
export const isContent = (event: ModelEvent): boolean => {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
      return event.delta !== ""
    case "reasoning-end":
      return event.metadata !== undefined
    case "activity":
    case "tool-call":
    case "finish":
      return true
    default:
      return false
  }
}

/** The way to models. */
export class Provider extends Context.Tag("@skein/core/Provider")<Provider, {
  /** Finds the model of this name. */
  readonly resolve: (ref: ModelRef) => Effect.Effect<LanguageModel, ModelUnavailable>
  /** The known models, with or without a key, sorted by provider and name. */
  readonly list: Effect.Effect<ReadonlyArray<ModelInfo & { readonly available: boolean }>>
  /** The default model of agents that name none, if the config names none either. */
  readonly defaultModel: Effect.Effect<ModelRef, ModelUnavailable>
}>() {
  /** A provider of these models; the first is the default. */
  static readonly layerModels = (
    models: readonly [LanguageModel, ...ReadonlyArray<LanguageModel>]
  ): Layer.Layer<Provider> =>
    Layer.succeed(Provider, {
      resolve: (ref) => {
        const found = models.find((model) => formatRef(model.info) === formatRef(ref))
        return found === undefined
          ? Effect.fail(
            new ModelUnavailable({
              model: formatRef(ref),
              reason: "unknown_model",
              message: `There is no model ${formatRef(ref)} here. Known: ${
                models.map((model) => formatRef(model.info)).join(", ")
              }.`
            })
          )
          : Effect.succeed(found)
      },
      list: Effect.succeed(models.map((model) => ({ ...model.info, available: true }))),
      defaultModel: Effect.succeed({ providerID: models[0].info.providerID, modelID: models[0].info.modelID })
    })
}

/** The maximum length of one event of a stream, in characters: a whole answer, escaped, and its envelope. */
export const longestEvent = (bounds: AnswerBounds): number => 4 * (bounds.text + bounds.arguments) + 1_000_000

/** The message for a longer event. */
export const tooLongEvent = (bounds: AnswerBounds): string =>
  `an event of more than ${longestEvent(bounds)} characters (limits.answer)`

/** Counts what an answer holds. */
export class AnswerMeter {
  readonly #bounds: AnswerBounds
  #calls = 0
  #text = 0
  #arguments = 0
  /** What exceeds the bounds, for a message; undefined while the answer is within them. */
  excess: string | undefined

  constructor(bounds: AnswerBounds) {
    this.#bounds = bounds
  }

  /** Counts an event of a model. */
  take(event: ModelEvent): void {
    if (event.type === "text-delta" || event.type === "reasoning-delta") this.text(event.delta)
    else if (event.type === "tool-call") {
      this.call()
      this.arguments(event.input)
      if (isTextNested(event.input, this.#bounds.nesting)) {
        this.#exceed(`arguments that are nested more than ${this.#bounds.nesting} levels deep`, "nesting")
      }
    }
  }

  /** Counts text, or reasoning. */
  text(piece: string): void {
    this.#text += piece.length
    if (this.#text > this.#bounds.text) this.#exceed(`more than ${this.#bounds.text} characters of text`, "text")
  }

  /** Counts a call. */
  call(): void {
    this.#calls++
    if (this.#calls > this.#bounds.calls) this.#exceed(`more than ${this.#bounds.calls} calls`, "calls")
  }

  /** Counts a piece of a call's arguments. */
  arguments(piece: string): void {
    this.#arguments += piece.length
    if (this.#arguments > this.#bounds.arguments) {
      this.#exceed(`more than ${this.#bounds.arguments} characters of arguments`, "arguments")
    }
  }

  #exceed(what: string, bound: keyof AnswerBounds): void {
    this.excess ??= `${what} (limits.answer.${bound})`
  }
}
