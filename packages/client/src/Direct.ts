/** Owns how clients reach a server: at the address that was named, and never at one that an answer leads to. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { type HttpClientError, ResponseError } from "@effect/platform/HttpClientError"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Whether an answer leads to another address. No route of the API does that. */
export const isRedirect = ({ status }: Pick<HttpClientResponse, "status">): boolean => status >= 300 && status < 400

/** How much of the other address a message shows, in characters. */
const shown = 200

/** What such an answer means to the user. */
export const redirectText = ({ headers, status }: Pick<HttpClientResponse, "headers" | "status">): string =>
  `it answers with a redirect (${status}) to ${
    JSON.stringify((headers["location"] ?? "").slice(0, shown))
  }, which Skein does not follow`

const answered = (response: HttpClientResponse): Effect.Effect<HttpClientResponse, ResponseError> =>
  isRedirect(response)
    ? new ResponseError({
      request: response.request,
      response,
      reason: "StatusCode",
      description: redirectText(response)
    })
    : Effect.succeed(response)

/**
 * A client that follows no redirects: the token, and what is asked, are for the address that has proved its identity. Such
 * an answer fails with the reason `StatusCode`.
 */
export const direct = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.transformResponse(
    client,
    (answer: Effect.Effect<HttpClientResponse, HttpClientError>) =>
      Effect.flatMap(Effect.serviceOption(FetchHttpClient.RequestInit), (given) =>
        Effect.flatMap(
          Effect.provideService(answer, FetchHttpClient.RequestInit, {
            ...Option.getOrElse(given, () => ({})),
            redirect: "manual"
          }),
          answered
        ))
  )
