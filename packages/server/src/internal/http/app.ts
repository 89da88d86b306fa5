/** Composes the routes into an HTTP application. Every failure is a problem document, never a stack trace. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Headers from "@effect/platform/Headers"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Api, document } from "@skein/api/Api"
import { Problem, problem, problemType } from "@skein/api/Problem"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { bringsArchive, readBody } from "../readBody.ts"
import { internal } from "../respond.ts"
import { askRoutes, permissionRoutes } from "../routes/answers.ts"
import { archiveRoutes } from "../routes/archives.ts"
import { hostRoutes } from "../routes/host.ts"
import { projectRoutes } from "../routes/projects.ts"
import { hasReached } from "../routes/reached.ts"
import { publicRoutes, serverRoutes } from "../routes/server.ts"
import { sessionRoutes } from "../routes/sessions.ts"
import { taskRoutes } from "../routes/tasks.ts"

interface Known {
  readonly pattern: RegExp
  readonly method: string
}

const known: ReadonlyArray<Known> = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/:[a-zA-Z]+/g, "[^/]+")}$`)
  }))
)

/** The methods of a URL's path; empty if there is no such path. */
const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = url.split("?", 1)[0] ?? ""
  return known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}

/** The maximum length of an explanation of a bad request, in characters. */
const longestDetail = 1_000

const issuesText = ({ issues }: HttpApiDecodeError): string =>
  issues.map(({ message, path }) => path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`)
    .join("; ").slice(0, longestDetail)

/** An answer that the API does not allow. What is in it stays in the log. */
const badAnswer = problem(
  500,
  "BadAnswer",
  "The request is valid and may have been carried out, but the answer does not have the form that the API promises. This is a fault of the server. Its log says what is wrong."
)

const routeProblem = ({ method, url }: Pick<HttpServerRequest, "method" | "url">) => {
  const methods = methodsOf(url)
  // Of a route with this method, the id is longer than any can be.
  return methods.length === 0 || methods.includes(method)
    ? problem(404, "RouteNotFound", "There is no such route. GET /openapi.json lists them.")
    : problem(405, "MethodNotAllowed", `${method} is not possible here. Use ${methods.join(" or ")}.`)
}

const isProblem = Schema.is(Problem)

const badRequest = (error: unknown): Problem =>
  problem(400, "BadRequest", error instanceof HttpApiDecodeError ? issuesText(error) : "The request cannot be read.")

/** Describes a bad request or a bad answer as a problem. Errors of routes have that form already. */
const explained = (error: unknown): Effect.Effect<Problem, never, HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest, (request) => {
    if (error instanceof RouteNotFound) return Effect.succeed(routeProblem(error.request))
    if (isProblem(error)) return Effect.succeed(error)
    if (!hasReached(request)) return Effect.succeed(badRequest(error))
    const [path] = request.url.split("?", 1)
    const why = error instanceof HttpApiDecodeError ? issuesText(error) : String(error)
    return Effect.as(
      Effect.logError(`The answer to ${request.method} ${path} does not have the form of the API: ${why}`),
      badAnswer
    )
  })

const mayHaveBody = new Set(["POST", "PUT", "PATCH", "DELETE"])

/** Reads the body before the route is found, and passes it to the route. */
const withBody = (app: HttpApp.Default): HttpApp.Default<Problem> =>
  Effect.flatMap(HttpServerRequest, (request) =>
    mayHaveBody.has(request.method) && !bringsArchive(request.url)
      ? Effect.flatMap(readBody(NodeHttpServerRequest.toIncomingMessage(request)), (body) =>
        Effect.provideService(
          app,
          HttpServerRequest,
          Object.create(request, { json: { value: Effect.succeed(body) } }) as HttpServerRequest
        ))
      : app)

const openApi = Effect.sync(() => HttpServerResponse.unsafeJson(document()))

const withDocument = (app: HttpApp.Default<Problem>): HttpApp.Default<Problem> =>
  Effect.flatMap(
    HttpServerRequest,
    (request) => request.url === "/openapi.json" && request.method === "GET" ? openApi : app
  )

const problems = HttpApiBuilder.middleware(
  Api,
  (app) => Effect.catchAll(withDocument(withBody(app)), (error) => Effect.flip(explained(error)))
)

const internalError = HttpServerResponse.unsafeJson(internal, { status: 500, contentType: problemType })

/** How long a client may take to read a response, in milliseconds. */
const readPatience = 60_000

const finished = <R>(app: HttpApp.Default<never, R>) =>
  Effect.flatMap(HttpServerRequest, (request) =>
    Effect.map(
      Effect.catchAllCause(app, (cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.failCause(cause)
          : Effect.as(Effect.logError("A request failed", cause), internalError)),
      (response) => {
        NodeHttpServerRequest.toIncomingMessage(request).socket.setTimeout(readPatience)
        return response
      }
    ))

const routes = Layer.mergeAll(
  publicRoutes,
  serverRoutes,
  sessionRoutes,
  archiveRoutes,
  taskRoutes,
  askRoutes,
  permissionRoutes,
  projectRoutes,
  hostRoutes
)

/** Decisions by path have to be valid for the route too, so each route has exactly one path. */
const exactly = { caseSensitive: true, ignoreDuplicateSlashes: false, ignoreTrailingSlash: false }

/** Makes the function that answers requests of Node. */
export const makeHandler = Effect.gen(function*() {
  const app = yield* HttpRouter.withRouterConfig(HttpApiBuilder.httpApp, exactly)
  // Traces contain the headers of requests, except for those that authenticate.
  return yield* Effect.locallyWith(
    NodeHttpServer.makeHandler(finished(app)),
    Headers.currentRedactedNames,
    (names) => [...names, "skein-key"]
  )
}).pipe(
  Effect.provide(
    Layer.mergeAll(Layer.provide(HttpApiBuilder.api(Api), routes), problems).pipe(
      Layer.provideMerge(Layer.merge(HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer)),
      Layer.provideMerge(NodeHttpServer.layerContext)
    )
  )
)
