/** Owns the typed client: every route of the API as a function, made from the same contract as the server. */
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { ResponseError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { Api } from "@skein/api/Api"
import { directUrl } from "@skein/api/Handshake"
import { problems } from "@skein/api/Problem"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { direct } from "./Direct.ts"

/** Which server, and what to authenticate with. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:4096`. `http://localhost` stands for 127.0.0.1. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Sends the token with a request. */
export const authorised = (token: Redacted.Redacted) => HttpClientRequest.bearerToken(Redacted.value(token))

/** What a proxy answers while no server is behind it, or none that is in time. */
const proxyStatus: ReadonlySet<number> = new Set([502, 503, 504])

/** Whether a proxy made this answer, and not the server: that one writes JSON. */
export const isOfProxy = ({ headers, status }: Pick<HttpClientResponse, "headers" | "status">): boolean =>
  proxyStatus.has(status) && !/\bjson\b/.test(headers["content-type"] ?? "")

/** Such an answer is no answer: it fails with the reason `StatusCode`. */
const answered = (response: HttpClientResponse) =>
  isOfProxy(response)
    ? Effect.zipRight(
      Effect.ignoreLogged(response.text),
      new ResponseError({
        request: response.request,
        response,
        reason: "StatusCode",
        description: `a proxy answered with ${response.status}, and not the server`
      })
    )
    : Effect.succeed(response)

const readProblem = Schema.decodeUnknown(Schema.parseJson(Schema.Union(...Object.values(problems))))

/** Sends the export of a tree as it comes, where the route as a function holds all of it. */
const makeExportTree = (client: HttpClient.HttpClient) =>
  Effect.fnUntraced(function*(session: string) {
    const response = yield* client.get(`/v1/sessions/${encodeURIComponent(session)}/export`)
    return response.status === 200
      ? response.stream
      : yield* Effect.flatMap(Effect.flatMap(response.text, readProblem), Effect.fail)
  })

/** Makes the client of a server. */
export const make = ({ token, url }: ClientOptions) => {
  const baseUrl = directUrl(url)
  const sending = (client: HttpClient.HttpClient) =>
    direct(client).pipe(
      HttpClient.mapRequest(authorised(token)),
      HttpClient.transformResponse(Effect.flatMap(answered))
    )
  return Effect.zipWith(
    HttpApiClient.make(Api, { baseUrl, transformClient: sending }),
    HttpClient.HttpClient,
    (routes, client) => ({
      ...routes,
      exportTree: makeExportTree(HttpClient.mapRequest(sending(client), HttpClientRequest.prependUrl(baseUrl)))
    })
  )
}

/** All routes of a server as functions. */
export type SkeinClient = Effect.Effect.Success<ReturnType<typeof make>>
