/** What `skein acp` does. */
import { serve } from "@skein/acp/AcpAgent"
import type { AcpHost } from "@skein/acp/AcpHost"
import type { Backend } from "@skein/backend/Backend"
import * as LocalBackend from "@skein/backend/LocalBackend"
import type { SessionID } from "@skein/domain/Id"
import { isSkeinItself, McpServerConfig, startsSkein } from "@skein/domain/McpConfig"
import { EditorFiles, type EditorOf } from "@skein/tools/EditorFiles"
import { Watchdog } from "@skein/tools/Watchdog"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { CommandError, Input, ProgramServices } from "../../CommandSpec.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { manyServices, refuseSandbox, storage, withSandbox } from "../app.ts"
import { backendOf, findServer } from "../attach/attach.ts"
import type { acpFlags } from "../flags.ts"
import { EditorServers } from "../mcp/McpLoader.ts"
import { checkDirectory, isSameDirectory, projectOf } from "../place.ts"
import { readModel, typedMode } from "../run/choices.ts"
import { version } from "../version.ts"

/** The editors of this process, by the roots of their sessions. */
type Editors = Map<SessionID, EditorOf>

/** Makes what takes them: for this process, or for a server, whose tools read the disk. */
const useFiles = (editors: Editors, serverUrl: string | undefined): AcpHost["useFiles"] => {
  let isTold = false
  return (root, files) => {
    if (serverUrl === undefined) {
      return Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => void editors.set(root, files)),
          // The session may be open anew by then.
          () => Effect.sync(() => editors.get(root) === files && editors.delete(root))
        ),
        []
      )
    }
    return Effect.sync(() => {
      if (isTold) return []
      isTold = true
      return [
        `Unsaved changes in the editor are not seen: the server at ${serverUrl} runs the tools, and reads files from disk. `
        + "Save files before you ask about them, or start Skein with --attach=off and --db FILE."
      ]
    })
  }
}

type Named = Parameters<AcpHost["useServers"]>[1][number]

const record = (pairs: ReadonlyArray<{ readonly name: string; readonly value: string }>) =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

const isConfig = Schema.is(McpServerConfig)

/** A server as config would name it, or why there can be none. */
const configOf = (server: Named): McpServerConfig | string => {
  const config = "command" in server
    ? { command: [server.command, ...server.args], env: record(server.env) }
    : "url" in server
    ? { url: server.url, headers: record(server.headers), type: server.type }
    : undefined
  if (config === undefined) {
    return `its type ${
      "type" in server ? server.type : "unknown"
    } is not supported. Skein starts programs, and connects to http and sse`
  }
  if (startsSkein(config.command ?? [])) return isSkeinItself
  if (isConfig(config)) return config
  return "url" in server ? `${server.url} is no http(s) URL` : "its command is empty"
}

const listed = (servers: ReadonlyArray<Named>) => servers.map(({ name }) => escapeLine(name)).join(", ")

/** Makes what takes them: for this process, or for a server, which has its own. */
const useServers = (
  editors: typeof EditorServers.Service,
  serverUrl: string | undefined
): AcpHost["useServers"] =>
(directory, servers) =>
  Effect.sync(() => {
    if (serverUrl !== undefined) {
      return [
        `The editor's MCP servers are not used: ${
          listed(servers)
        }. The server at ${serverUrl} holds the sessions, and uses `
        + "those of its config. Add them there with skein mcp add, or start Skein with --attach=off and --db FILE."
      ]
    }
    const notes: Array<string> = []
    const known: Record<string, McpServerConfig> = {}
    for (const server of servers) {
      const config = configOf(server)
      const name = escapeLine(server.name)
      if (typeof config === "string") notes.push(`The editor's MCP server ${name} is not used: ${escapeLine(config)}.`)
      else if (server.name in known) notes.push(`The editor names two MCP servers ${name}: the first one is used.`)
      else known[server.name] = config
    }
    const before = editors.get(directory) ?? {}
    const after = { ...before, ...known }
    if (JSON.stringify(before) !== JSON.stringify(after)) editors.set(directory, after)
    return notes
  })

/** What the editor sends. */
const inputOf = (stdio: Streams): ReadableStream<Uint8Array> => {
  const input = stdio.input()
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      input.on("data", (bytes: Uint8Array) => {
        controller.enqueue(bytes)
        if ((controller.desiredSize ?? 0) <= 0) input.pause()
      })
      input.once("end", () => controller.close())
      input.once("error", (error) => controller.error(error))
    },
    pull: () => void input.resume(),
    cancel: () => void input.destroy()
  })
}

/** What the editor is sent: frames, and nothing else. A slow reader holds back who writes. */
const outputOf = (stdio: Streams): WritableStream<Uint8Array> => {
  const decoder = new TextDecoder()
  return new WritableStream<Uint8Array>({
    write: (bytes) => {
      stdio.out(decoder.decode(bytes))
      return stdio.isFull() ? Effect.runPromise(stdio.drained) : undefined
    }
  })
}

/** The sessions: those of the server that holds the database, else of this process. */
const backendFor = ({ attach, db, sandbox }: Input<typeof acpFlags>["flags"]) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const found = yield* findServer({ attach, db }, stdio.err)
    if (found !== undefined) {
      yield* refuseSandbox(sandbox, found.server.url)
      stdio.err(`server: ${found.server.url} (its environment, config and trust apply)`)
    }
    const editors: typeof EditorServers.Service = new Map()
    const files: Editors = new Map()
    const layer: Layer.Layer<Backend, CommandError, ProgramServices> = found === undefined
      ? Layer.provide(Layer.provide(LocalBackend.layer({ projectOf }), manyServices("person")), storage).pipe(
        Layer.provide(
          Layer.mergeAll(
            Layer.succeed(EditorServers, editors),
            Layer.succeed(EditorFiles, files),
            Watchdog.layerWithoutLeases
          )
        )
      )
      : backendOf(found)
    const url = found?.server.url
    return { layer, useServers: useServers(editors, url), useFiles: useFiles(files, url) }
  })

/** Serves. */
export const executeAcp = ({ flags }: Input<typeof acpFlags>) =>
  Effect.scoped(Effect.gen(function*() {
    const stdio = yield* Stdio
    const mode = yield* typedMode(flags)
    const model = yield* readModel(flags.model)
    const backend = yield* backendFor(flags)
    yield* Effect.provide(
      serve({
        version,
        input: inputOf(stdio),
        output: outputOf(stdio),
        mode,
        agent: flags.agent,
        model,
        checkDirectory: (directory) => checkDirectory(directory, "", "as cwd"),
        isSameDirectory,
        useServers: backend.useServers,
        useFiles: backend.useFiles
      }),
      backend.layer
    )
  })).pipe(withSandbox(flags.sandbox))
