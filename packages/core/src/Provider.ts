/** Owns the way to models: turns `provider/model` into something that streams typed events. */
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import type { SessionID } from "@skein/domain/Id"
import { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelInfo, type ModelRef } from "@skein/domain/Model"
import type { Tokens } from "@skein/domain/Usage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** The model cannot be had: unknown provider or model, or no key for it. The message says how to fix it. */
export class ModelUnavailable extends Schema.TaggedError<ModelUnavailable>()("ModelUnavailable", {
  model: Schema.String,
  reason: Schema.Literal("unknown_provider", "unknown_model", "no_key", "bad_config", "unknown_price"),
  message: Schema.String
}) {}

/** What kind of thing went wrong in a request. */
export const ModelErrorReason = Schema.Literal(
  /** 429. */
  "rate_limit",
  /** 529, or an error event that says so. */
  "overloaded",
  /** Any other 5xx. */
  "server",
  /** Refused, reset, cut, DNS, TLS. */
  "network",
  /** No connection, no first event, or no further event in time. */
  "timeout",
  /** 401 or 403. */
  "auth",
  /** Any other 4xx. */
  "invalid_request",
  /** The conversation is longer than the model reads. */
  "context_overflow",
  /** The stream broke its own rules: no JSON, no finish, an unknown shape. */
  "bad_response",
  /** The stream ended well but said nothing. */
  "empty_response",
  /** The answer holds more than one may (`limits.answer`). */
  "AnswerTooLarge"
)

/** A model request failed. `message` never holds a key. */
export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelErrorReason,
  /** Whether the same request may succeed later. */
  retryable: Schema.Boolean,
  message: Schema.String,
  /** The HTTP status, where there was one. */
  status: Schema.optional(Schema.Number),
  /** What the provider gave as the reason for its end, where it ended well. */
  finish: Schema.optional(FinishReason),
  /** How long the provider asked to wait, in milliseconds. */
  retryAfter: Schema.optional(Schema.Number),
  /** After how many such failures in a row to give up, where that is less than usual. */
  tries: Schema.optional(Schema.Number)
}) {}

/** Text in a prompt. */
export interface TextContent {
  readonly type: "text"
  readonly text: string
}
/** A file in a prompt; `data` is a URL or base64. */
export interface FileContent {
  readonly type: "file"
  readonly data: string
  readonly mediaType: string
  readonly filename?: string
}
/** Reasoning that the model wrote in an earlier step, with what its provider needs to accept it again. */
export interface ReasoningContent {
  readonly type: "reasoning"
  readonly text: string
  readonly providerOptions?: Record<string, Record<string, unknown>>
}
/** A call that the model made in an earlier step. */
export interface ToolCallContent {
  readonly type: "tool-call"
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}
/** The result of a call of an earlier step. */
export interface ToolResultContent {
  readonly type: "tool-result"
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: "text" | "error-text"; readonly value: string }
}

/** A message of a prompt; every `tool-call` has its `tool-result` in the tool message that follows. */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: ReadonlyArray<TextContent | FileContent> }
  | { readonly role: "assistant"; readonly content: ReadonlyArray<TextContent | ReasoningContent | ToolCallContent> }
  | { readonly role: "tool"; readonly content: ReadonlyArray<ToolResultContent> }

/** A tool as a model sees it; `inputSchema` is a JSON Schema (draft 7) of an object. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
}

/** Who asks, for scripts, cassettes, and tracing: it is not part of what the model reads. */
export interface RequestOrigin {
  readonly sessionID: SessionID
  readonly rootID: SessionID
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
  /** What the answer may hold, for models that gather pieces of it. */
  readonly bounds?: AnswerBounds
  /** The most tokens that the answer may have, reasoning included; where absent, the provider decides. */
  readonly maxOutputTokens?: number
  readonly origin: RequestOrigin
}

/** What is said of an answer that holds too much. */
export const answerTooLarge = (info: ModelInfo, excess: string): ModelError =>
  new ModelError({
    reason: "AnswerTooLarge",
    retryable: false,
    message: `${formatRef(info)} gave an answer that is too large: ${excess}. Nothing of it was run.`
  })

/**
 * What a model says while it answers. `connected` comes first, once, when the connection stands. `activity` says that content
 * arrives which is told later, such as arguments of a call; empty pieces and keep-alives are not told at all.
 */
export type ModelEvent =
  | { readonly type: "connected" }
  | { readonly type: "activity" }
  | { readonly type: "text-start"; readonly id: string }
  | { readonly type: "text-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "text-end"; readonly id: string }
  | { readonly type: "reasoning-start"; readonly id: string }
  | { readonly type: "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
    readonly type: "reasoning-end"
    readonly id: string
    readonly metadata?: Record<string, Record<string, unknown>>
  }
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly input: string }
  | {
    readonly type: "finish"
    readonly finish: FinishReason
    /** Undefined where the provider told nothing usable. */
    readonly tokens: Tokens | undefined
  }

/** A model that can be asked. */
export interface LanguageModel {
  readonly info: ModelInfo
  /** Names what shares a rate limit: provider, model and key (as a fingerprint, never the key itself). */
  readonly limitKey: string
  /** How long it may take until the first content, in milliseconds; as `deadlines.first_event` says where absent. */
  readonly firstEvent?: number | undefined
  /**
   * Asks once, without retry. `emit` is called for each event in order, at once, and never after the effect has ended;
   * it does not throw. The last event of a success is `finish`. Interruption closes the request.
   */
  readonly stream: (request: ModelRequest, emit: (event: ModelEvent) => void) => Effect.Effect<void, ModelError>
}

/** Whether an event carries content: only that shows that a model is at work. */
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
  /** The models that are known, whether or not there is a key for them, sorted by provider and name. */
  readonly list: Effect.Effect<ReadonlyArray<ModelInfo & { readonly available: boolean }>>
  /** The model of agents that name none, where the config names none either. */
  readonly defaultModel: Effect.Effect<ModelRef, ModelUnavailable>
}>() {
  /** A provider of these models; the first is the default one. */
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
