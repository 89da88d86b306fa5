/** What MCP servers need of this machine. Loaded with the first one. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { DataDirs } from "@skein/config/DataDirs"
import { secretsIn } from "@skein/config/McpSecrets"
import type { McpHost } from "@skein/mcp/McpHost"
import { environment } from "@skein/tools/Environment"
import { Network } from "@skein/tools/Network"
import { Processes } from "@skein/tools/Processes"
import { makePublicFetch } from "@skein/tools/PublicFetch"
import * as ServerProcess from "@skein/tools/ServerProcess"
import { remember } from "@skein/tools/ServerScripts"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Redaction } from "../Redaction.ts"
import { version } from "../version.ts"
import { makeCredentials } from "./credentials.ts"

/** Runs servers as child processes. */
export const makeHost: Effect.Effect<McpHost, never, DataDirs | FileSystem.FileSystem | Processes> = Effect.gen(
  function*() {
    const fs = yield* FileSystem.FileSystem
    const processes = yield* Processes
    const variables = yield* environment
    const network = Context.get(yield* Effect.scoped(Layer.build(Network.layer({ environment: variables }))), Network)
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
        ServerProcess.start(processes, { ...program, environment: { ...base, ...program.environment } })
    }
  }
)
