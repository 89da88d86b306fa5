import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import { Server } from "@skein/server/Server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"

/** A server of sessions in memory, on a free port. */
export const server = (token: Redacted.Redacted) =>
  Layer.provide(
    Server.layer({
      hostname: "127.0.0.1",
      port: 0,
      token,
      version: "1.0.0",
      resume: true,
      projectOf: (directory) => Effect.succeed(directory)
    }),
    Skein.layer({ provider: OpenAi.layer, permission: { asks: "person" } })
  )
