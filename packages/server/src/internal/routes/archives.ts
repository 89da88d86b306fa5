/** Implements the routes of archives. A tree is sent piece by piece, and imported completely or not at all. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Api } from "@skein/api/Api"
import { problem } from "@skein/api/Problem"
import { exportStream, importTree, unreadableOf } from "@skein/core/SessionArchive"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionNotFound } from "@skein/core/Turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { IncomingMessage } from "node:http"
import { receive } from "../readBody.ts"
import { ServerState } from "../ServerState.ts"
import { checkDirectory } from "./checkDirectory.ts"
import { noting } from "./reached.ts"
import { asProblem } from "./toProblem.ts"

/** Breaks the connection if the rest cannot be read. An answer that ended normally would look complete. */
const orBreak = (request: IncomingMessage) =>
  Stream.catchAll(({ message }: SessionNotFound | StorageError) =>
    Stream.execute(
      Effect.zipRight(
        Effect.logError("An export broke off", message),
        Effect.sync(() => void request.socket.destroy())
      )
    )
  )

const send = Effect.fnUntraced(function*(session: string, isPartial: boolean, request: IncomingMessage) {
  const { id, rootID } = yield* asProblem(findSession(session))
  if (!isPartial) {
    // Once the first piece is sent, the rest can no longer be refused.
    const unreadable = yield* asProblem(unreadableOf(id))
    if (unreadable.length > 0) {
      return yield* Effect.fail(problem(
        409,
        "Unreadable",
        `${unreadable.length} rows of the tree cannot be read, such as ${
          unreadable[0]?.id
        }. Add partial=true to export the rest.`
      ))
    }
  }
  const pieces = Stream.provideService(exportStream(id), SessionStorage, yield* SessionStorage)
  return HttpServerResponse.stream(orBreak(request)(pieces), {
    contentType: "application/json",
    headers: { "content-disposition": `attachment; filename="${rootID}.json"` }
  })
})

/** The routes of archives. */
export const archiveRoutes = HttpApiBuilder.group(Api, "archives", (handlers) =>
  handlers
    .handleRaw("export", ({ path, request, urlParams }) =>
      send(path.id, urlParams.partial === "true", NodeHttpServerRequest.toIncomingMessage(request)))
    .handleRaw("import", ({ request, urlParams: { copy, directory } }) =>
      Effect.gen(function*() {
        const { imports, options } = yield* ServerState
        const place = directory === undefined ? undefined : yield* checkDirectory(directory)
        const where = place === undefined
          ? { projectOf: options.projectOf }
          : { place: { directory: place, projectID: yield* options.projectOf(place) } }
        const body = receive(NodeHttpServerRequest.toIncomingMessage(request))
        // The archives of many clients would take the disk that sessions need.
        return yield* imports.withPermits(1)(
          Effect.scoped(Effect.flatMap(body, (archive) =>
            asProblem(importTree(archive, { copy: copy === "true", ...where }))))
        )
      }))
    .pipe(noting))
