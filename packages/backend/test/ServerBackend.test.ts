/** Proves the backend over a server, which runs in this process and listens on a real socket. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as ServerBackend from "@skein/backend/ServerBackend"
import { Server } from "@skein/server/Server"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { conformance } from "./support/conformance.ts"

const token = Redacted.make("0123456789abcdef0123456789abcdef")

conformance("ServerBackend", (scripts, options) => {
  const server = Server.layer({
    hostname: "127.0.0.1",
    port: 0,
    token,
    version: "0.0.0-test",
    resume: false,
    projectOf: Effect.succeed
  })
  return Layer.unwrapEffect(
    Effect.map(Server, ({ url }) => ServerBackend.layer({ server: { url, token, version: "0.0.0-test" } }))
  ).pipe(
    Layer.provide(Layer.orDie(server)),
    Layer.provide(Layer.mergeAll(
      SkeinTest.layer(scripts, { asks: "person", ...options }),
      NodeFileSystem.layer,
      FetchHttpClient.layer
    ))
  )
})
