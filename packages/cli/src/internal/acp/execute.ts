/** What `skein acp` does: serves an editor until that closes the connection. */
import { serve } from "@skein/acp/AcpAgent"
import type { Backend } from "@skein/backend/Backend"
import * as LocalBackend from "@skein/backend/LocalBackend"
import { EditorFiles } from "@skein/tools/EditorFiles"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError, Input } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import type { Stop } from "../../Stop.ts"
import { manyServices, platform, refuseSandbox, storage, withSandbox } from "../app.ts"
import { backendOf, findServer } from "../attach/attach.ts"
import { EditorServers } from "../mcp/EditorServers.ts"
import { checkDirectory, isSameDirectory, projectOf } from "../place.ts"
import { typedMode } from "../run/mode.ts"
import { readModel } from "../run/models.ts"
import { version } from "../version.ts"
import { type Editors, useFiles } from "./files.ts"
import type { acpFlags } from "./flags.ts"
import { useServers } from "./servers.ts"

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
    const layer: Layer.Layer<Backend, CommandError> = found === undefined
      ? Layer.provide(Layer.provide(LocalBackend.layer({ projectOf }), manyServices("person")), storage).pipe(
        Layer.provide(platform({ database: db })),
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
export const executeAcp = (
  { flags }: Input<typeof acpFlags>
): Effect.Effect<number, CommandError, Stdio | Stop> =>
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
    return ExitCode.done
  })).pipe(Effect.provide(platform({ database: flags.db })), withSandbox(flags.sandbox))
