/** Implements the routes of archives. A tree is sent piece by piece, and imported completely or not at all. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Api } from "@skein/api/Api"
import { problem } from "@skein/api/Problem"
import { exportTree, importTree } from "@skein/core/SessionArchive"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionNotFound } from "@skein/core/Turn"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Stream from "effect/Stream"
import type { IncomingMessage } from "node:http"
import { readText } from "../readBody.ts"
import { ServerState } from "../ServerState.ts"
import { checkDirectory } from "./checkDirectory.ts"
import { noting } from "./reached.ts"
import { asProblem } from "./toProblem.ts"

/** Reads the tree only as fast as the client takes it. */
const pieces = (id: SessionID, storage: typeof SessionStorage.Service) =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const mailbox = yield* Mailbox.make<string, SessionNotFound | StorageError>({ capacity: 1 })
    const writing = exportTree(id, (piece) => Effect.asVoid(mailbox.offer(piece)))
    yield* Effect.forkScoped(
      Mailbox.into(Effect.provideService(Effect.asVoid(writing), SessionStorage, storage), mailbox)
    )
    return Mailbox.toStream(mailbox)
  }))

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
    const { unreadable } = yield* asProblem(exportTree(id, () => Effect.void))
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
  return HttpServerResponse.stream(Stream.encodeText(orBreak(request)(pieces(id, yield* SessionStorage))), {
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
        const text = readText(NodeHttpServerRequest.toIncomingMessage(request))
        // An archive takes several times its size in memory.
        return yield* imports.withPermits(1)(
          Effect.flatMap(text, (read) =>
            asProblem(importTree(read, { copy: copy === "true", ...where })))
        )
      }))
    .pipe(noting))
