/** What MCP servers need of this machine. Loaded with the first one. */
import * as FileSystem from "@effect/platform/FileSystem"
import { secretsIn } from "@skein/config/McpSecrets"
import type { McpHost } from "@skein/mcp/McpHost"
import { environment } from "@skein/tools/Environment"
import { Processes } from "@skein/tools/Processes"
import * as ServerProcess from "@skein/tools/ServerProcess"
import * as Effect from "effect/Effect"
import { Redaction } from "../Redaction.ts"
import { version } from "../version.ts"

/** Runs servers as child processes. */
export const makeHost: Effect.Effect<McpHost, never, FileSystem.FileSystem | Processes> = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const processes = yield* Processes
  const variables = yield* environment
  const { hide, redact } = yield* Redaction
  const base = ServerProcess.baseEnvironment(variables)
  return {
    version,
    variables,
    hide: (config) => hide(secretsIn(config)),
    redact,
    fetch: globalThis.fetch,
    readText: (path) => fs.readFileString(path),
    launch: (program) =>
      ServerProcess.start(processes, { ...program, environment: { ...base, ...program.environment } })
  }
})
