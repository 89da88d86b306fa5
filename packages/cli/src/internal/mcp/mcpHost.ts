/** What MCP servers need of this machine. Loaded with the first one. */
import * as FileSystem from "@effect/platform/FileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import { secretsIn } from "@skein/config/McpSecrets"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { McpHost } from "@skein/mcp/McpHost"
import { environment } from "@skein/tools/Environment"
import { Network } from "@skein/tools/Network"
import { machineFirst } from "@skein/tools/OwnPrograms"
import { Processes } from "@skein/tools/Processes"
import { makePublicFetch } from "@skein/tools/PublicFetch"
import { remember } from "@skein/tools/Scripts"
import * as ServerProcess from "@skein/tools/ServerProcess"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Redaction } from "../Redaction.ts"
import { version } from "../version.ts"

const secrets = /"(?:access_token|refresh_token|id_token|client_secret)":"((?:[^"\\]|\\.)+)"/g

/** Makes it. */
const makeCredentials: Effect.Effect<McpHost["credentials"], never, DataDirs | FileSystem.FileSystem> = Effect
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

/** Runs servers as child processes. */
export const makeHost: Effect.Effect<McpHost, never, DataDirs | FileSystem.FileSystem | Processes> = Effect.gen(
  function*() {
    const fs = yield* FileSystem.FileSystem
    const processes = yield* Processes
    const variables = yield* environment
    const network = Context.get(
      yield* Effect.scoped(LayerGraph.build(Network.layer({ environment: variables }))),
      Network
    )
    const { hide, redact } = yield* Redaction
    const base = ServerProcess.baseEnvironment(variables)
    return {
      version,
      variables,
      hide: (config) => hide(secretsIn(config)),
      redact,
      fetch: globalThis.fetch,
      fetchPublic: makePublicFetch(network),
      credentials: yield* makeCredentials,
      readText: (path) => fs.readFileString(path),
      remember,
      launch: (program) =>
        ServerProcess.start(processes, {
          ...program,
          environment: { ...machineFirst(base, program.directory), ...program.environment }
        })
    }
  }
)
