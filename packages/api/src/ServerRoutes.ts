/** Owns the routes of the server itself: health, login, and the events of all trees. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { HandshakeAnswer, HandshakeQuestion } from "./Handshake.ts"
import { Login, replay, startOfID } from "./Input.ts"
import { Cluster, Ids, LoginCode, LoginKey, Server } from "./Output.ts"
import { eventStream } from "./SessionRoutes.ts"

const about = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }) })

/** Routes without a token. */
export class PublicRoutes extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("health", "/healthz").addSuccess(Schema.Struct({ status: Schema.Literal("ok") }))
      .annotateContext(about(
        "Checks that the server runs",
        "It answers also while the database is away: a restart of the server would not help then."
      ))
  )
  .add(
    HttpApiEndpoint.get("ready", "/readyz").addSuccess(Schema.Struct({ status: Schema.Literal("ok") }))
      .annotateContext(about(
        "Checks that the server can work",
        "503 with the kind `StorageUnavailable` while the database is away, locked or full. The server then waits for it."
      ))
  )
  .add(
    HttpApiEndpoint.post("handshake", "/v1/handshake").setPayload(HandshakeQuestion)
      .addSuccess(HandshakeAnswer)
      .annotateContext(about(
        "Proves that this is the server whose token you have",
        [
          "`host` is the host and port that you connect to; the server answers only for its own, and not for `localhost`.",
          "`answer` is, in hexadecimal digits, the HMAC-SHA256 of four lines with the token as key:",
          "`skein handshake`, the nonce, `host` and `version`, joined by line feeds. Check it before you send the token."
        ].join(" ")
      ))
  )
  .add(
    HttpApiEndpoint.post("login", "/v1/login").setPayload(Login).addSuccess(LoginKey)
      .annotateContext(about(
        "Exchanges a login code for a cookie and a key",
        "A code works once. Each later request carries both: the cookie, and the key in the header `Skein-Key`."
      ))
  )
  .annotateContext(OpenApi.annotations({ description: "Routes that need no token" }))
{}

/** The server itself. */
export class ServerRoutes extends HttpApiGroup.make("server")
  .add(
    HttpApiEndpoint.get("about", "/v1/server").addSuccess(Server).annotateContext(about("Describes the server"))
  )
  .add(
    HttpApiEndpoint.get("cluster", "/v1/cluster").addSuccess(Cluster)
      .annotateContext(about("Lists the servers that share the database, with their trees, load and takeovers"))
  )
  .add(
    HttpApiEndpoint.get("ids", "/v1/ids").setUrlParams(startOfID).addSuccess(Ids)
      .annotateContext(about("Lists the ids of sessions, tasks or runs with a prefix, in order"))
  )
  .add(
    HttpApiEndpoint.post("code", "/v1/login/code").addSuccess(LoginCode)
      .annotateContext(about("Makes a login code that works once, within a minute"))
  )
  .add(
    HttpApiEndpoint.post("logout", "/v1/logout").addSuccess(HttpApiSchema.NoContent)
      .annotateContext(about("Ends the login that the request carries"))
  )
  .add(
    HttpApiEndpoint.post("shutdown", "/v1/shutdown").addSuccess(HttpApiSchema.Accepted)
      .annotateContext(about("Stops the server; the next one continues its open turns"))
  )
  .add(
    HttpApiEndpoint.get("events", "/v1/events").setUrlParams(replay.query).setHeaders(replay.headers)
      .addSuccess(eventStream)
      .annotateContext(about(
        "Streams the events of all trees",
        "Like the events of one tree; `id` is an opaque cursor. Without `from`, it begins with the next event."
      ))
  )
  .annotateContext(OpenApi.annotations({ description: "The server itself, and the events of all trees" }))
{}
