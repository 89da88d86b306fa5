/** Turns any language model of the AI SDK into one of Skein's: one request, typed events, typed errors. */
import type { LanguageModelV3, SharedV3ProviderOptions } from "@ai-sdk/provider"
import { AnswerMeter } from "@skein/core/AnswerMeter"
import { defaults } from "@skein/core/Config"
import type { LanguageModel, ModelRequest } from "@skein/core/Provider"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type Place, toModelError } from "./internal/failure.ts"
import { onConnection } from "./internal/fetch.ts"
import { type PromptStyle, toCallOptions } from "./internal/prompt.ts"
import { ErrorPart, pump } from "./internal/pump.ts"
import { makeRedactor } from "./Redactor.ts"

/** What the adapter needs beside the model. */
export interface AdapterOptions {
  readonly model: LanguageModelV3
  readonly info: ModelInfo
  /** Names what shares a rate limit; `provider/model` where left out. */
  readonly limitKey?: string
  /** Keys and other values that must appear in no message. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted>
  /** The variable that holds the key, for the message where it is refused. */
  readonly keyName?: string
  /** Where the server is, for the message where it cannot be reached. */
  readonly baseUrl?: string
  /** The variable that may hold that address. */
  readonly baseUrlName?: string | undefined
  /** How long it may take until the first content, in milliseconds; as `deadlines.first_event` says where absent. */
  readonly firstEvent?: number | undefined
  /** Options of the provider for a request, such as a reasoning effort. */
  readonly providerOptions?: (request: ModelRequest) => SharedV3ProviderOptions | undefined
  /** How the provider wants prompts. */
  readonly style?: PromptStyle
}

/** A language model of the AI SDK as one of Skein's. */
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
      Effect.async<void, unknown>((resume) => {
        const abort = new AbortController()
        const connected = once(() => {
          if (!abort.signal.aborted) emit({ type: "connected" })
        })
        const { bounds = defaults.limits.answer } = request
        onConnection(abort.signal, connected, bounds)
        const providerOptions = options.providerOptions?.(request)
        const run = async () => {
          const { stream } = await model.doStream({
            ...toCallOptions(request, style),
            ...providerOptions === undefined ? {} : { providerOptions },
            abortSignal: abort.signal
          })
          connected()
          await pump(stream, abort.signal, new AnswerMeter(bounds), emit)
        }
        run().then(
          () => resume(Effect.void),
          (cause: unknown) => {
            // Whatever the stream still holds is of no use: the socket is closed.
            abort.abort()
            resume(Effect.fail(cause))
          }
        )
        return Effect.sync(() => abort.abort())
      }).pipe(
        Effect.catchAll((cause) =>
          Effect.flatMap(
            toModelError(cause instanceof ErrorPart ? cause.error : cause, place),
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
