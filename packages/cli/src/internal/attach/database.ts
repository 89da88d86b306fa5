/** Decides what commands that list and change work on: the database, or the server that holds it. */
import { Backend } from "@skein/backend/Backend"
import type { DataDirs } from "@skein/config/DataDirs"
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, readableStorage, services, settle, storage } from "../app.ts"
import { sessionOf, sessionOn } from "../ids.ts"
import { currentDirectory, projectOf } from "../place.ts"
import { type AttachFlags, backendOf, findServer } from "./attach.ts"

/** Whether a flag names a server. */
export const isNamed = ({ attach = "auto" }: AttachFlags): boolean => attach !== "auto" && attach !== "off"

/** Storage for commands that only read: the database, even while a server holds it, or a server that was named. */
export const readable = (flags: AttachFlags) => {
  const dirs = platform({ database: flags.db })
  const stored: Layer.Layer<SessionStorage, CommandError, DataDirs | Stdio> = isNamed(flags)
    ? Layer.unwrapEffect(Effect.gen(function*() {
      const found = yield* findServer(flags, () => undefined)
      const { layer } = yield* Effect.promise(() => import("./remoteStorage.ts"))
      return found === undefined ? readableStorage(flags.db) : Layer.provideMerge(layer, backendOf(found))
    })).pipe(Layer.provide(dirs))
    : readableStorage(flags.db)
  return Layer.provideMerge(stored, dirs)
}

/** The server through which to change things, if one holds the database. */
export const serverOf = Effect.fnUntraced(function*(flags: AttachFlags) {
  const stdio = yield* Stdio
  const found = yield* findServer(flags, stdio.err)
  if (found !== undefined) stdio.err(`server: ${found.server.url}`)
  return found
}, (effect, flags) => Effect.provide(effect, platform({ database: flags.db })))

/** Services over the database, with the config of a directory; Skein cannot ask anyone. */
const backendIn = (directory: string) =>
  Effect.map(
    Effect.zip(settle(directory), Effect.promise(() => import("@skein/backend/LocalBackend"))),
    ([settled, LocalBackend]) =>
      Layer.provide(LocalBackend.layer({ projectOf }), services(settled, settled.agents, "nobody"))
  )

/** Does something on the server that holds the database, or else in this process with the config of its directory. */
export const withBackend = <A>(
  flags: AttachFlags,
  use: Effect.Effect<A, CommandError, Backend | Stdio>
): Effect.Effect<A, CommandError, Stdio> =>
  Effect.flatMap(serverOf(flags), (found) =>
    found === undefined
      ? Effect.flatMap(
        Effect.flatMap(currentDirectory, backendIn),
        (backend) => Effect.provide(use, backend)
      ).pipe(Effect.provide(Layer.provideMerge(storage, platform({ database: flags.db }))))
      : Effect.provide(use, backendOf(found)))

/** Does something with a session, on the server that holds the database, or else in this process. */
export const withSession = <A>(
  flags: AttachFlags,
  id: string,
  use: (session: SessionInfo) => Effect.Effect<A, CommandError, Backend | Stdio>
): Effect.Effect<A, CommandError, Stdio> =>
  Effect.flatMap(serverOf(flags), (found) =>
    found === undefined
      ? Effect.flatMap(
        sessionOf(id),
        (session) => Effect.flatMap(backendIn(session.directory), (backend) => Effect.provide(use(session), backend))
      ).pipe(
        Effect.provide(Layer.provideMerge(storage, platform({ database: flags.db })))
      )
      : Effect.flatMap(Backend, (backend) => Effect.flatMap(sessionOn(backend, id), use)).pipe(
        Effect.provide(backendOf(found))
      ))
