/** Adapts a `LanguageModelV3` of the AI SDK to the `LanguageModel` port: one request, typed events, typed errors. */
import type { LanguageModelV3, LanguageModelV3CallOptions, SharedV3ProviderOptions } from "@ai-sdk/provider"
import { defaults } from "@skein/core/Config"
import { AnswerMeter, type LanguageModel, type ModelRequest } from "@skein/core/Provider"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type Place, toModelError } from "./internal/failure.ts"
import { listen } from "./internal/fetch.ts"
import { keepsMarked, type PromptStyle, toCallOptions, withCachePoints } from "./internal/prompt.ts"
import { ErrorPart, pump } from "./internal/pump.ts"
import { makeRedactor } from "./Redactor.ts"

/** The model, and what the adapter must know about it. */
export interface AdapterOptions {
  readonly model: LanguageModelV3
  readonly info: ModelInfo
  /** Models with the same key share a rate limit; `provider/model` by default. */
  readonly limitKey?: string
  /** Keys and other values that must appear in no message. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted>
  /** The variable that holds the key; named if the server refuses the key. */
  readonly keyName?: string
  /** The base URL; named if the server cannot be reached. */
  readonly baseUrl?: string
  /** The variable that can override the base URL. */
  readonly baseUrlName?: string | undefined
  /** Deadline for the first content, in milliseconds; `deadlines.first_event` by default. */
  readonly firstEvent?: number | undefined
  /** Provider-specific options for a request, such as the reasoning effort. */
  readonly providerOptions?: (request: ModelRequest) => SharedV3ProviderOptions | undefined
  /** How to write prompts for this provider. */
  readonly style?: PromptStyle
  /** Whether the server keeps only what is marked of a prompt; by default if the model is a Claude. */
  readonly keepsMarked?: boolean
  /** Finishes the options of a call, such as by its thinking. */
  readonly prepare?: (options: LanguageModelV3CallOptions, request: ModelRequest) => LanguageModelV3CallOptions
}

/** Adapts a model of the AI SDK. */
export const make = (options: AdapterOptions): LanguageModel => {
  const { info, model, style = {} } = options
  const name = formatRef(info)
  const place: Place = {
    model: name,
    baseUrl: options.baseUrl,
    baseUrlName: options.baseUrlName,
    key: options.keyName,
    redact: makeRedactor(options.secrets ?? [])
  }
  return {
    info,
    limitKey: options.limitKey ?? name,
    firstEvent: options.firstEvent,
    stream: (request, emit) =>
      Effect.async<void, { readonly cause: unknown; readonly isAccepted: boolean }>((resume) => {
        const abort = new AbortController()
        const connected = once(() => {
          if (!abort.signal.aborted) emit({ type: "connected" })
        })
        const { bounds = defaults.limits.answer } = request
        let isAccepted = false
        const accepted = () => {
          isAccepted = true
        }
        listen(abort.signal, { connected, accepted, bounds })
        const run = async () => {
          const providerOptions = options.providerOptions?.(request)
          const call: LanguageModelV3CallOptions = {
            ...toCallOptions(request, info, style),
            ...providerOptions === undefined ? {} : { providerOptions },
            abortSignal: abort.signal
          }
          const prepared = options.prepare?.(call, request) ?? call
          // Nobody repeats the other requests.
          const marks = (options.keepsMarked ?? keepsMarked(info.modelID)) && request.origin.purpose === "turn"
          const { stream } = await model.doStream(marks ? withCachePoints(prepared) : prepared)
          connected()
          accepted()
          await pump(stream, abort.signal, new AnswerMeter(bounds), emit)
        }
        run().then(
          () => resume(Effect.void),
          (cause: unknown) => {
            // Nobody reads the rest of the stream: close the socket.
            abort.abort()
            resume(Effect.fail({ cause, isAccepted }))
          }
        )
        return Effect.sync(() => abort.abort())
      }).pipe(
        Effect.catchAll(({ cause, isAccepted }) =>
          Effect.flatMap(
            toModelError(cause instanceof ErrorPart ? cause.error : cause, place, isAccepted),
            Effect.fail
          )
        )
      )
  }
}

const once = (run: () => void): () => void => {
  let done = false
  return () => {
    if (done) return
    done = true
    run()
  }
}
