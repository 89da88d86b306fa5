/** Keeps what logins to MCP servers gave: a file for each exact URL, which only this user can read. */
import * as FileSystem from "@effect/platform/FileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import type { McpHost } from "@skein/mcp/McpHost"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Redaction } from "../Redaction.ts"

const secrets = /"(?:access_token|refresh_token|id_token|client_secret)":"((?:[^"\\]|\\.)+)"/g

/** Makes it. */
export const makeCredentials: Effect.Effect<McpHost["credentials"], never, DataDirs | FileSystem.FileSystem> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const { data } = yield* DataDirs
      const { hide } = yield* Redaction
      const directory = join(data, "mcp-logins")
      const pathOf = (url: string) => join(directory, `${createHash("sha256").update(url).digest("hex")}.json`)
      const hidden = (text: string) => hide([...text.matchAll(secrets)].map(([, secret = ""]) => secret))
      return {
        read: (url) =>
          fs.readFileString(pathOf(url)).pipe(
            Effect.tap((text) => Effect.sync(() => hidden(text))),
            Effect.catchAll((error) =>
              error._tag === "SystemError" && error.reason === "NotFound"
                ? Effect.succeed(undefined)
                : Effect.fail(error)
            )
          ),
        write: (url, text) =>
          Effect.gen(function*() {
            hidden(text)
            const path = pathOf(url)
            const temporary = `${path}.${(yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)}.tmp`
            yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
            yield* fs.writeFileString(temporary, text, { flag: "wx", mode: 0o600 })
            yield* fs.rename(temporary, path)
          }),
        remove: (url) => fs.remove(pathOf(url), { force: true })
      }
    }
  )
