/** Exports whole trees of sessions from storage, and imports them: all of a tree, or nothing. */
import { type ArchivedSession, format, version } from "@skein/domain/Archive"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readArchive } from "./internal/archive/readArchive.ts"
import { anew, unchanged } from "./internal/archive/renamed.ts"
import { refuseKnown, writesOf } from "./internal/archive/writesOf.ts"
import { Journal } from "./Journal.ts"
import { notFound } from "./SessionError.ts"
import { type Found, type MessagePage, SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Following } from "./StorageFilter.ts"

/** The result of an export. */
export interface Exported {
  readonly root: SessionID
  readonly sessions: number
  readonly messages: number
  /** What could not be read, and so is missing from it. */
  readonly unreadable: Found<never>["unreadable"]
}

/** Sessions from the top. A session below an unreadable one could not be imported, so it is left out as well. */
const reachable = (found: Found<SessionInfo>, root: SessionID) => {
  const known = new Set<SessionID>()
  const unreadable = [...found.unreadable]
  const sessions = found.rows.toSorted((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : 1)).filter((info) => {
    const isReachable = info.id === root || (info.parentID !== undefined && known.has(info.parentID))
    if (isReachable) known.add(info.id)
    else unreadable.push({ id: info.id, reason: "the session above it cannot be read" })
    return isReachable
  })
  return { sessions, known, unreadable }
}

/** Reports and skips what cannot be read. */
const orNothing = <A>(
  id: SessionID,
  read: Effect.Effect<ReadonlyArray<A>, StorageError>,
  unreadable: Array<Exported["unreadable"][number]>
) =>
  Effect.catchIf(read, ({ reason }) => reason === "unreadable", ({ message }) =>
    Effect.sync((): ReadonlyArray<A> => {
      unreadable.push({ id, reason: message })
      return []
    }))

/** Small, because what is read waits in memory until it is collected. */
const exportPage = { limit: 50, bytes: 250_000 } as const

/**
 * Writes the whole tree of a session, from its root, as one archive. Calls `write` with pieces of the JSON text, one
 * message at a time, so that memory holds no more than a page of them.
 */
export const exportTree = Effect.fn("SessionArchive.export")(
  function*<E, R>(id: SessionID, write: (piece: string) => Effect.Effect<void, E, R>) {
    const storage = yield* SessionStorage
    const found = yield* storage.session(id)
    if (Option.isNone(found)) return yield* notFound(id)
    const root = found.value.rootID
    const { known, sessions, unreadable } = reachable(yield* storage.sessions({ rootID: root }), root)
    // An archive needs its root, so an unreadable root is an error.
    if (!known.has(root) && Option.isNone(yield* storage.session(root))) return yield* notFound(root)
    const exported = yield* Clock.currentTimeMillis
    const head = JSON.stringify({ format, version, exported, root }).slice(0, -1)
    let messages = 0
    yield* write(`${head},"sessions":[`)
    for (const [i, info] of sessions.entries()) {
      // The archive is written as it is read: memory holds a page of one session.
      yield* write(`${i === 0 ? "\n" : ",\n"}${JSON.stringify({ info }).slice(0, -1)},"messages":[`)
      let after: Following["after"] | undefined = ""
      let count = 0
      while (after !== undefined) {
        const said: MessagePage = yield* storage.messagePage(info.id, { after, ...exportPage })
        for (const each of said.unreadable) unreadable.push(each)
        for (const each of said.rows) yield* write(`${count++ === 0 ? "" : ","}${JSON.stringify(each)}`)
        after = said.next
      }
      messages += count
      const waiting = yield* storage.inbox(info.id)
      for (const each of waiting.unreadable) unreadable.push(each)
      const rest = {
        inbox: waiting.rows,
        todos: yield* orNothing(info.id, storage.todos(info.id), unreadable)
      } satisfies Omit<ArchivedSession, "info" | "messages">
      yield* write(`],${JSON.stringify(rest).slice(1)}`)
    }
    const runs = yield* storage.runs({ rootID: root })
    for (const each of runs.unreadable) unreadable.push(each)
    const kept = runs.rows.filter(({ parentID, taskID }) => known.has(taskID) && known.has(parentID))
    yield* write(`\n],"runs":[${kept.map((run) => `\n${JSON.stringify(run)}`).join(",")}\n]}\n`)
    return { root, sessions: sessions.length, messages, unreadable } satisfies Exported
  }
)

/**
 * Imports an archive in one commit, once all of it is valid; returns the root. `copy` gives every row a new id, so that
 * the original may exist as well; without it, a tree that exists already is refused. `place` is the new directory of all
 * its sessions; by default that is the root's directory. `projectOf` gives the project of that directory: without it, the
 * archive names the project. Worktrees are not imported, so their tasks continue in the new directory.
 */
export const importTree = Effect.fn("SessionArchive.import")(
  function*(text: string, options: {
    readonly copy?: boolean
    readonly place?: Pick<SessionInfo, "directory" | "projectID">
    readonly projectOf?: (directory: string) => Effect.Effect<string>
  } = {}) {
    const journal = yield* Journal
    const ids = yield* Ids
    const archive = yield* readArchive(text)
    if (options.copy !== true) yield* refuseKnown(archive)
    const { directory, projectID } = archive.sessions[0].info
    const place = options.place ??
      { directory, projectID: yield* options.projectOf?.(directory) ?? Effect.succeed(projectID) }
    const now = yield* Clock.currentTimeMillis
    const fresh = anew(ids, now)
    const { sessions, writes } = writesOf(
      archive,
      options.copy === true ? fresh : unchanged,
      fresh.message,
      place
    )
    yield* journal.commit(writes)
    return sessions[0]
  }
)
