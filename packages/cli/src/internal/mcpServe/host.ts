/** Decides for clients of MCP where they may have work done, and opens their door. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { DataDirs } from "@skein/config/DataDirs"
import * as Trust from "@skein/config/Trust"
import { formatRef } from "@skein/domain/Model"
import * as McpEndpoint from "@skein/mcp/McpEndpoint"
import * as McpServing from "@skein/mcp/McpServing"
import { type Place, PlaceRefused, type ServingHost } from "@skein/mcp/ServingHost"
import { keyNames } from "@skein/provider/BuiltIn"
import * as Effect from "effect/Effect"
import { isAbsolute } from "node:path"
import { isOpen } from "../app.ts"
import { checkDirectory, projectOf } from "../place.ts"
import { configOf, fallback } from "../providers.ts"
import { version } from "../version.ts"

const refuse = (message: string) => new PlaceRefused({ message })

const refusedBy = ({ message }: { readonly message: string }) => refuse(message)

/** The place of a directory: by its real path, however it is written. */
const placeOf = (written: string): Effect.Effect<Place, PlaceRefused, DataDirs | FileSystem.FileSystem> =>
  Effect.gen(function*() {
    if (!isAbsolute(written) || written.includes("\0")) {
      return yield* refuse(`directory: ${JSON.stringify(written)} is no absolute path.`)
    }
    const fileSystem = yield* FileSystem.FileSystem
    yield* Effect.mapError(checkDirectory(written, "directory: "), refusedBy)
    const directory = yield* Effect.mapError(fileSystem.realPath(written), refusedBy)
    const items = yield* Effect.mapError(Trust.review(yield* configOf(directory)), refusedBy)
    const open = items.filter(isOpen)
    if (open.length > 0) {
      return yield* refuse(
        `Files of the project of ${directory} want more than its user has granted (${open.length} in ${
          open[0]?.file
        }). `
          + "Its user decides with `skein trust` there."
      )
    }
    return { directory, projectID: yield* projectOf(directory) }
  })

/** A client takes a result for the work of a model. */
const noModel = {
  model: fallback,
  message:
    `No model is set up for agents, so this task was not started. Set one of ${
      keyNames.join(", ")
    } in the environment of Skein, or "model" in skein.json, and start Skein again. `
    + `To have ${formatRef(fallback)} answer, which is not an AI, name it there.`
}

/** Makes what serving needs of this program. */
const makeHost: Effect.Effect<ServingHost, never, DataDirs | FileSystem.FileSystem> = Effect.map(
  Effect.context<DataDirs | FileSystem.FileSystem>(),
  (context) => ({ version, fallback: noModel, place: (directory) => Effect.provide(placeOf(directory), context) })
)

/** Opens the door. */
export const openDoor = Effect.flatMap(makeHost, (host) => Effect.flatMap(McpServing.make(host), McpEndpoint.make))
