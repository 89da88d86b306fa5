/** What `skein mcp serve` does: serves one client of MCP over standard input and output, until its input ends. */
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as LayerGraph from "@skein/core/LayerGraph"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Writable } from "node:stream"
import type { Input } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { manyServices, storage } from "../app.ts"
import { findServer } from "../attach/attach.ts"
import type { directoryFlags, placeFlags } from "../flags.ts"
import { directoryOf } from "../place.ts"
import { configOf } from "../providers.ts"
import { hideConfigured } from "../Redaction.ts"

/** Standard output as a stream. */
const outputOf = (stdio: Streams): Writable =>
  new Writable({
    write: (chunk: Buffer, _, done) => {
      stdio.out(chunk.toString("utf8"))
      done()
    }
  })

/** Serves from this process. */
const serveHere = Effect.fnUntraced(function*(directory: string) {
  const stdio = yield* Stdio
  const { home } = yield* DataDirs
  const { settings } = yield* ConfigFiles.load(yield* configOf(home))
  yield* hideConfigured(settings)
  const services = yield* LayerGraph.build(
    Layer.provideMerge(manyServices("nobody", settings), storage).pipe(Layer.provide(Watchdog.layerWithoutLeases))
  )
  const { openDoor } = yield* Effect.promise(() => import("./host.ts"))
  const door = yield* Effect.provide(openDoor, services)
  yield* door.serve({ input: stdio.input(), output: outputOf(stdio), directory })
  return ExitCode.done
})

/** Serves; through the server that holds the database, where one runs. */
export const executeMcpServe = ({ flags }: Input<typeof directoryFlags & typeof placeFlags>) =>
  Effect.scoped(Effect.gen(function*() {
    const stdio = yield* Stdio
    const directory = yield* directoryOf(flags.dir)
    const found = yield* findServer(flags, stdio.err)
    if (found === undefined) return yield* serveHere(directory)
    const { bridge } = yield* Effect.promise(() => import("./bridge.ts"))
    return yield* bridge(found.server, directory)
  }))
