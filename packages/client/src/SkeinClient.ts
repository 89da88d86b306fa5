/** Owns the typed client: every route of the API as a function, made from the same contract as the server. */
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Api } from "@skein/api/Api"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** Which server, and what to authenticate with. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:4096`. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Sends the token with a request. */
export const authorised = (token: Redacted.Redacted) => HttpClientRequest.bearerToken(Redacted.value(token))

/** Makes the client of a server. */
export const make = ({ token, url }: ClientOptions) =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: HttpClient.mapRequest(authorised(token))
  })

/** All routes of a server as functions. */
export type SkeinClient = Effect.Effect.Success<ReturnType<typeof make>>
