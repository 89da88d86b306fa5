/** Composes what commands stand on that reach MCP servers without a session. */
import { DataDirs } from "@skein/config/DataDirs"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { platform } from "../app.ts"

const processes = Layer.unwrapEffect(
  Effect.zipWith(
    DataDirs,
    environment,
    ({ data }, variables) =>
      Layer.provide(Processes.layer({ dataDirectory: data, environment: variables }), NodeOwner.layer)
  )
)

/** Files, and processes. */
export const machine = Layer.provideMerge(processes, platform({}))
