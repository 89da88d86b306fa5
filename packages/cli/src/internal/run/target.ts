/** Decides which session a prompt goes to, and in which directory. */
import { Backend } from "@skein/backend/Backend"
import { DataDirs } from "@skein/config/DataDirs"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOn } from "@skein/core/Whereabouts"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { isPostgres } from "@skein/storage/PostgresUrl"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { resolve } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { UsageError } from "../../ExitCode.ts"
import { sessionOf, sessionOn } from "../ids.ts"
import { checkDirectory, currentDirectory, directoryOf, projectOf } from "../place.ts"

/** The target of a prompt. */
export interface Target {
  /** Absent if a new session is needed. */
  readonly session: SessionInfo | undefined
  readonly directory: string
}

/** Looks up sessions: in the database, or on a server. */
export interface Lookup {
  /** The session with this id or prefix. */
  readonly named: (given: string) => Effect.Effect<SessionInfo, CommandError>
  /** The directory that `--dir` means, by default the current one. */
  readonly directory: (given: string | undefined) => Effect.Effect<string, CommandError>
  /** The root session that changed last, in the project of a directory. */
  readonly newest: (directory: string) => Effect.Effect<SessionInfo | undefined, CommandError>
  readonly get: (id: SessionInfo["id"]) => Effect.Effect<SessionInfo | undefined, CommandError>
  /** Fails if a session cannot work here, given the root of its tree. */
  readonly check: (session: SessionInfo, root: SessionInfo) => Effect.Effect<void, CommandError>
}

/** Whether a tree is on this machine, or does not say where it is. */
const isHere = ({ host, machine }: SessionInfo): boolean =>
  host === undefined || isOn(NodeOwner.machine(), { host, machine })

const unusable = ({ id }: SessionInfo): string => `${id} works in a directory that cannot be used: `

/** Fails if the directory of a session is not here. A tree of another host may need none. */
const checkHost = Effect.fnUntraced(function*(session: SessionInfo, root: SessionInfo) {
  const { database } = yield* DataDirs
  if (isPostgres(database) && !isHere(root)) {
    if (root.anywhere === true) return
    const { whyNotHere } = yield* Effect.promise(() => import("@skein/cluster/Placement"))
    const why = yield* Effect.provide(whyNotHere(Redacted.make(database), root), NodeOwner.layer)
    if (why !== undefined) return yield* new UsageError({ message: why })
  }
  yield* checkDirectory(session.directory, unusable(session))
})

/** Looks them up in the database. */
export const inStorage: Effect.Effect<Lookup, never, DataDirs | SessionStorage> = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const dirs = yield* DataDirs
  return {
    named: (given) => Effect.provideService(sessionOf(given), SessionStorage, storage),
    directory: directoryOf,
    newest: (directory) =>
      Effect.flatMap(
        projectOf(directory),
        (projectID) =>
          Effect.map(storage.sessions({ projectID, roots: true, limit: 1 }), ({ rows: [newest] }) => newest)
      ),
    get: (id) => Effect.map(storage.session(id), Option.getOrUndefined),
    check: (session, root) => Effect.provideService(checkHost(session, root), DataDirs, dirs)
  }
})

/** Looks them up on a backend. */
export const onBackend = (backend: typeof Backend.Service): Lookup => ({
  named: (given) => sessionOn(backend, given),
  // Only the server knows what is on its machine.
  directory: (given) => Effect.map(currentDirectory, (directory) => resolve(directory, given ?? ".")),
  newest: (directory) => Effect.map(backend.sessions.list({ directory, limit: 1 }), ({ items: [newest] }) => newest),
  get: (id) => backend.sessions.get(id),
  // A server of another host says itself what it lacks.
  check: (session, root) => isHere(root) ? checkDirectory(session.directory, unusable(session)) : Effect.void
})

const existing = Effect.fnUntraced(function*(
  session: SessionInfo,
  given: string | undefined,
  { check, directory, get }: Pick<Lookup, "check" | "directory" | "get">
) {
  if (given !== undefined && (yield* directory(given)) !== session.directory) {
    return yield* new UsageError({
      message:
        `--dir cannot move ${session.id}, which works in ${session.directory}. Leave --dir out, or begin a new session.`
    })
  }
  yield* check(session, session.id === session.rootID ? session : (yield* get(session.rootID)) ?? session)
  return { session, directory: session.directory } satisfies Target
})

/** A copy of a session, with the title from the command line. */
export const forked = Effect.fnUntraced(function*(original: SessionInfo, title: string | undefined) {
  const { sessions } = yield* Backend
  const { id } = yield* sessions.fork(original.id)
  if (title !== undefined) yield* sessions.rename(id, title)
  return yield* sessions.get(id)
})

/** Finds the session that the flags name, or the place for a new one. */
export const findTarget = Effect.fnUntraced(function*(flags: {
  readonly session: string | undefined
  readonly continue: boolean
  readonly fork: boolean
  readonly dir: string | undefined
}, lookup: Lookup) {
  const { named, newest: newestOf } = lookup
  if (flags.fork && flags.session === undefined && !flags.continue) {
    return yield* new UsageError({
      message: "--fork copies a session: name it with --session ID, or take the newest one with --continue."
    })
  }
  if (flags.session !== undefined) {
    if (flags.continue) {
      return yield* new UsageError({ message: "--session and --continue exclude each other. Leave one of them out." })
    }
    return yield* existing(yield* named(flags.session), flags.dir, lookup)
  }
  const directory = yield* lookup.directory(flags.dir)
  if (!flags.continue) return { session: undefined, directory } satisfies Target
  const newest = yield* newestOf(directory)
  if (newest === undefined) {
    return yield* new UsageError({
      message:
        `There is no session in the project of ${directory} to continue. Leave --continue out to begin one; \`skein sessions --all\` lists those of other projects.`
    })
  }
  return yield* existing(newest, undefined, lookup)
})
