/** Decides what commands that list and change work on: the database, or the server that holds it. */
import { Backend } from "@skein/backend/Backend"
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { CommandError, ProgramServices } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { readableStorage, services, settle, storage } from "../app.ts"
import { sessionOf, sessionOn } from "../ids.ts"
import { currentDirectory, projectOf } from "../place.ts"
import { warn } from "../print.ts"
import { type AttachFlags, backendOf, findServer } from "./attach.ts"
import type { Found } from "./findServer.ts"

/** Whether a flag names a server. */
const isNamed = ({ attach = "auto" }: AttachFlags): boolean => attach !== "auto" && attach !== "off"

/** Storage of the database or of a server. In the second case, the backend of the server is there too. */
type Stored = Layer.Layer<SessionStorage, CommandError, ProgramServices>

const storageOn = (found: Found): Layer.Layer<Backend | SessionStorage> =>
  Layer.unwrapEffect(Effect.map(
    Effect.promise(() => import("./remoteStorage.ts")),
    ({ layer }) => Layer.provideMerge(layer, backendOf(found))
  ))

/** Storage for commands that only read: the database, even while a server holds it, or a server that was named. */
export const readable = (flags: AttachFlags): Stored =>
  Layer.unwrapEffect(Effect.map(
    isNamed(flags) ? findServer(flags, () => undefined) : Effect.succeed(undefined),
    (found): Stored => found === undefined ? readableStorage(flags.db) : storageOn(found)
  ))

/** Storage for commands that change things: the database, or the server that holds it. */
export const changeable = (flags: AttachFlags): Stored =>
  Layer.unwrapEffect(
    Effect.map(serverOf(flags), (found): Stored => found === undefined ? storage : storageOn(found))
  )

/** The backend of the server whose storage it is; undefined for a database. */
export const serverBackend = Effect.map(Effect.serviceOption(Backend), Option.getOrUndefined)

/** Reports what could not be read. */
export const warnUnreadable = (unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>) =>
  warn(...unreadable.map(({ id, reason }) => escapeLine(`${id} cannot be read: ${reason}`)))

/** The server through which to change things, if one holds the database. */
const serverOf = Effect.fnUntraced(function*(flags: AttachFlags) {
  const stdio = yield* Stdio
  const found = yield* findServer(flags, stdio.err)
  if (found !== undefined) stdio.err(`server: ${found.server.url}`)
  return found
})

/** Services over the database, with the config of a directory; Skein cannot ask anyone. */
const backendIn = (directory: string) =>
  Layer.unwrapEffect(Effect.map(
    Effect.zip(settle(directory), Effect.promise(() => import("@skein/backend/LocalBackend"))),
    ([settled, LocalBackend]) =>
      Layer.provide(LocalBackend.layer({ projectOf }), services(settled, settled.agents, "nobody"))
  ))

type Use<A> = Effect.Effect<A, CommandError, Backend | ProgramServices>

/** Does something on the server that holds the database, or else in this process with the config of its directory. */
export const withBackend = <A>(flags: AttachFlags, use: Use<A>): Effect.Effect<A, CommandError, ProgramServices> =>
  Effect.flatMap(serverOf(flags), (found) =>
    found === undefined
      ? Effect.flatMap(currentDirectory, (directory) => Effect.provide(use, backendIn(directory))).pipe(
        Effect.provide(storage)
      )
      : Effect.provide(use, backendOf(found)))

/** Does something with a session, on the server that holds the database, or else in this process. */
export const withSession = <A>(
  flags: AttachFlags,
  id: string,
  use: (session: SessionInfo, backend: typeof Backend.Service) => Use<A>
): Effect.Effect<A, CommandError, ProgramServices> =>
  Effect.flatMap(serverOf(flags), (found) => {
    const using = (session: SessionInfo) => Effect.flatMap(Backend, (backend) => use(session, backend))
    return found === undefined
      ? Effect.flatMap(sessionOf(id), (session) => Effect.provide(using(session), backendIn(session.directory))).pipe(
        Effect.provide(storage)
      )
      : Effect.flatMap(Backend, (backend) => Effect.flatMap(sessionOn(backend, id), using)).pipe(
        Effect.provide(backendOf(found))
      )
  })
