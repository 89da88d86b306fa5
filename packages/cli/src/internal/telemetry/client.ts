/** Owns the connection to the collector: with a timeout, and silent about all failures but the first. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Redaction } from "../Redaction.ts"

/** How long a request may take, in milliseconds. */
const limit = 10_000

const reasonOf = (error: HttpClientError.HttpClientError): string => {
  if (error._tag === "ResponseError") return `it answered ${error.response.status}`
  return error.cause instanceof Error ? error.cause.message : error.message
}

/** An HTTP client for telemetry. Once `end.is` is set, it retries nothing. */
export const client = (end: { readonly is: boolean }): Effect.Effect<Layer.Layer<HttpClient.HttpClient>> =>
  Effect.map(Redaction, ({ redact }) => {
    let reported = false
    const tell = (error: HttpClientError.HttpClientError) =>
      Effect.suspend(() => {
        if (reported) return Effect.void
        reported = true
        const { origin } = new URL(error.request.url)
        return Effect.logWarning(
          `Telemetry cannot be sent to ${origin}: ${redact(reasonOf(error))}. The run continues without it.`
        )
      })
    const guarded = (http: HttpClient.HttpClient) =>
      HttpClient.transform(http, (sending, request) => {
        const late = () =>
          new HttpClientError.RequestError({
            request,
            reason: "Transport",
            cause: new Error(`no answer in ${limit} ms`)
          })
        // The end of the program does not cut off requests in flight: it waits for them, but no longer than its own
        // limit.
        return Effect.interruptible(sending).pipe(
          Effect.timeoutFail({ duration: limit, onTimeout: late }),
          Effect.uninterruptible,
          Effect.tapError(tell),
          Effect.mapError((error) =>
            end.is ? new HttpClientError.RequestError({ request, reason: "Encode", cause: error }) : error
          )
        )
      })
    const layer = Layer.effect(
      HttpClient.HttpClient,
      Effect.map(HttpClient.HttpClient, (http) => guarded(HttpClient.filterStatusOk(http)))
    )
    return layer.pipe(Layer.provide(NodeHttpClient.layer))
  })
