/**
 * Exports whole trees of sessions from storage, and imports them: all of a tree, or nothing. An archive is validated
 * before anything is stored, and its rows may get other ids, in every field that refers to another row.
 */
import { Archive, type ArchivedSession, format, version } from "@skein/domain/Archive"
import { type ByPrefix, Ids, type MessageID, type PartID, type RunID, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import { mayEdit } from "@skein/domain/Mode"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Journal } from "./Journal.ts"
import { deepest, flattened, isTextNested } from "./Nesting.ts"
import { type Found, type MessagePage, SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Following } from "./StorageFilter.ts"
import { notFound } from "./Turn.ts"
import type { Entry } from "./Write.ts"

/** The text is not an archive, or cannot be imported. `path` leads to the fault, if it is in one place. */
export class ArchiveInvalid extends Schema.TaggedError<ArchiveInvalid>()("ArchiveInvalid", {
  reason: Schema.Literal("not_json", "foreign", "newer", "invalid", "exists"),
  path: Schema.optional(Schema.String),
  message: Schema.String
}) {}

/** The new id of each old one. */
export interface Names {
  readonly session: (id: SessionID) => SessionID
  readonly message: (id: MessageID) => MessageID
  readonly part: (id: PartID) => PartID
  readonly run: (id: RunID) => RunID
  /** Renames ids in tool metadata, such as the session of a task. Unknown ids stay. */
  readonly metadata?: (text: string) => string
}

const same = <A>(id: A): A => id

/** Keeps every id. */
export const unchanged: Names = { session: same, message: same, part: same, run: same }

/** Maps every id to a new one, always the same. New ids ascend in the order of the lookups. */
export const anew = (ids: Context.Tag.Service<typeof Ids>, now: number): Names => {
  const naming = <Prefix extends keyof ByPrefix>(prefix: Prefix) => {
    const known = new Map<string, ByPrefix[Prefix]>()
    return (id: ByPrefix[Prefix]): ByPrefix[Prefix] => {
      const found = known.get(id) ?? ids.unsafeMake(prefix, now)
      known.set(id, found)
      return found
    }
  }
  return { session: naming("ses"), message: naming("msg"), part: naming("prt"), run: naming("run") }
}

/** A session's data. */
export const renameSession = (names: Names, session: SessionInfo): SessionInfo => {
  // Work that was in progress at the origin does not continue here.
  const { asking: _, turn, ...info } = session
  return {
    ...info,
    id: names.session(info.id),
    rootID: names.session(info.rootID),
    ...(info.parentID === undefined ? {} : { parentID: names.session(info.parentID) }),
    ...(info.summary === undefined ? {} : { summary: { ...info.summary, until: names.message(info.summary.until) } }),
    ...(turn?.ended === undefined
      ? {}
      : { turn: { ...turn, ...(turn.first === undefined ? {} : { first: names.message(turn.first) }) } })
  }
}

const renameInfo = (names: Names, info: Message): Message => {
  const common = { id: names.message(info.id), sessionID: names.session(info.sessionID) }
  return info.role === "user" ? { ...info, ...common } : { ...info, ...common, parentID: names.message(info.parentID) }
}

const renameValue = (rename: (text: string) => string, value: unknown): unknown => {
  if (typeof value === "string") return rename(value)
  if (Array.isArray(value)) return value.map((each) => renameValue(rename, each))
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, renameValue(rename, each)]))
    : value
}

const renameMetadata = (names: Names, part: Part): Part => {
  const { metadata: rename } = names
  if (rename === undefined || part.type !== "tool" || part.state.status === "pending") return part
  const { metadata } = part.state
  return metadata === undefined ? part : {
    ...part,
    state: { ...part.state, metadata: renameValue(rename, flattened(metadata)) as typeof metadata }
  }
}

/**
 * Models know a call of a copy by the id of the original, so that the provider's cache of the conversation is read. An
 * archive may name an id twice: the second call gets its own.
 */
const withSentID = (names: Names, part: Part, taken: Set<string>): Part => {
  if (part.type !== "tool") return part
  const { sentAs = part.id, ...rest } = part
  const own = names.part(part.id)
  const sent = taken.has(sentAs) ? own : sentAs
  taken.add(sent)
  return sent === own ? rest : { ...rest, sentAs: sent }
}

const renamePart = (names: Names, part: Part, taken: Set<string>): Part => ({
  ...renameMetadata(names, withSentID(names, part, taken)),
  ...(part.type === "compaction" && part.keptFrom !== undefined ? { keptFrom: names.message(part.keptFrom) } : {}),
  id: names.part(part.id),
  sessionID: names.session(part.sessionID),
  messageID: names.message(part.messageID)
})

/** Messages with their parts. Ids determine their order, so this returns them in the order of the conversation. */
export const renameMessages = (
  names: Names,
  messages: ReadonlyArray<MessageWithParts>
): ReadonlyArray<MessageWithParts> => {
  for (const { info, parts } of messages) {
    names.message(info.id)
    for (const { id } of parts) names.part(id)
  }
  const taken = new Set<string>()
  return messages.map(({ info, parts }) => ({
    info: renameInfo(names, info),
    parts: parts.map((part) => renamePart(names, part, taken))
  }))
}

/** A run of a task. */
const renameRun = (names: Names, run: TaskRun): TaskRun => {
  const { outcome, partID } = run
  return {
    ...run,
    id: names.run(run.id),
    taskID: names.session(run.taskID),
    parentID: names.session(run.parentID),
    rootID: names.session(run.rootID),
    ...(partID === undefined ? {} : { partID: names.part(partID) }),
    ...(outcome === undefined
      ? {}
      : { outcome: { ...outcome, taskID: names.session(outcome.taskID), runID: names.run(outcome.runID) } })
  }
}

/** An inbox row. */
const renameRow = (names: Names, row: InboxRow): InboxRow => ({
  ...row,
  id: names.message(row.id),
  sessionID: names.session(row.sessionID),
  ...(row.runID === undefined ? {} : { runID: names.run(row.runID) })
})

const decode = Schema.decodeUnknownEither(Archive, { onExcessProperty: "preserve" })

/** A row that is nested as deeply as possible, below the archive, its sessions, their messages and parts. */
const most = deepest + 6

const longest = 200
const cut = (text: string) => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const pathOf = (keys: ReadonlyArray<PropertyKey>): string =>
  keys.reduce<string>((path, key) => path + (typeof key === "number" ? `[${key}]` : `.${String(key)}`), "$")

const invalid = (keys: ReadonlyArray<PropertyKey>, why: string) => {
  const path = pathOf(keys)
  return new ArchiveInvalid({
    reason: "invalid",
    path,
    message: `The archive cannot be taken in: at ${path}, ${cut(why)}. Nothing was stored. Export the tree again.`
  })
}

const parse = (text: string) =>
  Effect.try({
    try: () => JSON.parse(text) as unknown,
    catch: (cause) =>
      new ArchiveInvalid({
        reason: "not_json",
        message: text.trim() === ""
          ? "The archive is empty. Write one with `skein sessions export ID --output FILE`."
          : `The archive is not JSON, or was cut off (${
            cut(String(cause).replaceAll(/\s+/g, " "))
          }). Nothing was stored. Export the tree again.`
      })
  })

const headOf = (value: unknown): { readonly format?: unknown; readonly version?: unknown } =>
  typeof value === "object" && value !== null ? value : {}

/** The format name comes first: a newer version may differ in everything else. */
const checkVersion = (value: unknown) => {
  const { format: found, version: written } = headOf(value)
  if (found !== format) {
    return new ArchiveInvalid({
      reason: "foreign",
      path: "$.format",
      message: `This is no archive of Skein: its "format" is not "${format}". `
        + "Write one with `skein sessions export ID --output FILE`."
    })
  }
  return typeof written === "number" && written > version
    ? new ArchiveInvalid({
      reason: "newer",
      path: "$.version",
      message: `The archive has version ${written}, and this version of Skein reads archives up to ${version}. `
        + "Nothing was stored. Use a newer Skein."
    })
    : Effect.void
}

/** Finds the first row that belongs to no row of the archive, or exists twice. */
const misplaced = (archive: Archive): ArchiveInvalid | undefined => {
  const known = new Map<string, SessionInfo>()
  for (const [i, { inbox, info, messages }] of archive.sessions.entries()) {
    const at = ["sessions", i]
    const above = info.parentID === undefined ? undefined : known.get(info.parentID)
    if (i === 0 && info.id !== archive.root) return invalid([...at, "info", "id"], "the first session is not the root")
    if (i === 0 ? info.parentID !== undefined : above === undefined) {
      return invalid(
        [...at, "info", "parentID"],
        i === 0 ? "the root has a parent" : "no session before this is its parent"
      )
    }
    if (info.rootID !== archive.root) return invalid([...at, "info", "rootID"], `it is not ${archive.root}`)
    const depth = above === undefined ? 0 : above.depth + 1
    if (info.depth !== depth) return invalid([...at, "info", "depth"], `it is not ${depth}, one more than its parent's`)
    if (known.has(info.id)) return invalid([...at, "info", "id"], `${info.id} is there twice`)
    known.set(info.id, info)
    let last = ""
    const parts = new Set<string>()
    for (const [m, message] of messages.entries()) {
      const here = [...at, "messages", m]
      if (message.info.sessionID !== info.id) return invalid([...here, "info", "sessionID"], `it is not ${info.id}`)
      if (message.info.id <= last) return invalid([...here, "info", "id"], "ids have to ascend")
      last = message.info.id
      let before = ""
      for (const [p, part] of message.parts.entries()) {
        const where = [...here, "parts", p]
        if (part.sessionID !== info.id) return invalid([...where, "sessionID"], `it is not ${info.id}`)
        if (part.messageID !== message.info.id) return invalid([...where, "messageID"], `it is not ${message.info.id}`)
        if (part.id <= before || parts.has(part.id)) {
          return invalid([...where, "id"], "ids have to ascend, each there once")
        }
        before = part.id
        parts.add(part.id)
      }
    }
    for (const [r, row] of inbox.entries()) {
      if (row.sessionID !== info.id) return invalid([...at, "inbox", r, "sessionID"], `it is not ${info.id}`)
    }
  }
  const runs = new Set<string>()
  for (const [i, run] of archive.runs.entries()) {
    const at = ["runs", i]
    if (runs.has(run.id)) return invalid([...at, "id"], `${run.id} is there twice`)
    runs.add(run.id)
    if (run.rootID !== archive.root) return invalid([...at, "rootID"], `it is not ${archive.root}`)
    for (const key of ["taskID", "parentID"] as const) {
      if (!known.has(run[key])) return invalid([...at, key], `the session ${run[key]} is not in the archive`)
    }
  }
  return undefined
}

/** Reads the text of an archive. */
const readArchive = Effect.fnUntraced(function*(text: string) {
  if (isTextNested(text, most)) return yield* invalid([], `it is nested more than ${most} levels deep`)
  const value = yield* parse(text)
  yield* checkVersion(value)
  const decoded = decode(value)
  if (Either.isLeft(decoded)) {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    return yield* invalid(issue?.path ?? [], issue?.message ?? decoded.left.message)
  }
  const wrong = misplaced(decoded.right)
  return wrong === undefined ? decoded.right : yield* wrong
})

const exists = (id: string) =>
  new ArchiveInvalid({
    reason: "exists",
    message: `${id} of the archive is stored here already. Nothing was stored. `
      + "`--as-copy` takes the tree in under new ids; or delete the session that is here first."
  })

/** Fails if a session or a run of the archive is stored already, because it would be overwritten. */
const refuseKnown = Effect.fnUntraced(function*({ runs, sessions }: Archive) {
  const storage = yield* SessionStorage
  for (const { info: { id } } of sessions) {
    if (Option.isSome(yield* storage.session(id))) return yield* exists(id)
  }
  for (const { id } of runs) {
    if (Option.isSome(yield* storage.run(id))) return yield* exists(id)
  }
})

/**
 * What waits in an archive waits here for the next prompt: an import must not prompt a model. A notification loses a run
 * whose task is gone, so that it does not block other rows.
 */
const asNote = ({ runID, ...row }: InboxRow, runs: ReadonlySet<string>): InboxRow => ({
  ...row,
  kind: "note",
  ...(runID === undefined || !runs.has(runID) ? {} : { runID })
})

/** A run that was in progress in the archive does not continue here: nobody knows its outcome. */
const ended = (run: TaskRun): TaskRun => {
  if (run.state === "settled") return run
  const { id: runID, taskID, time } = run
  const outcome: Outcome = { status: "lost", taskID, runID, text: "", usage: none, durationMs: 0 }
  return { ...run, state: "settled", outcome, time: { ...time, settled: time.started ?? time.created } }
}

/**
 * Drops a mode that asks less than the usual one: the author of an archive must not decide that here. Drops the host too: the
 * directory is now one of this machine, and its files are sent nowhere. Drops worktrees: only those count that Skein has made
 * here.
 */
const cautious = (given: SessionInfo): SessionInfo => {
  const { anywhere: __, host: _, machine: ____, mode, workspace: ___, worktree: _____, ...info } = given
  return mode === undefined || mayEdit(mode) ? info : { ...info, mode }
}

/**
 * The writes, and the sessions as they will be, the root first. `inboxID` gives inbox rows their ids. All sessions work in
 * `place`: the author of an archive must not put one of them into another directory or project.
 */
const writesOf = (
  archive: Archive,
  names: Names,
  inboxID: (id: MessageID) => MessageID,
  place: Pick<SessionInfo, "directory" | "projectID">
): { readonly sessions: readonly [SessionInfo, ...Array<SessionInfo>]; readonly writes: ReadonlyArray<Entry> } => {
  const [root] = archive.sessions
  const runs = new Set<string>(archive.runs.map(({ id }) => id))
  const writes: Array<Entry> = []
  // Runs are sorted by id, so inboxes must look up the ids in the same order.
  const known = new Map<string, string>()
  for (const { info: { id } } of archive.sessions) known.set(id, names.session(id))
  for (const { id } of archive.runs) known.set(id, names.run(id))
  const within: Names = { ...names, metadata: (text) => known.get(text) ?? text }
  const put = ({ inbox, info, messages, todos }: Archive["sessions"][number]): SessionInfo => {
    // Map the ids of messages before the summary looks one up, so that they ascend.
    const said = renameMessages(within, messages)
    const named = renameSession(names, { ...cautious(info), ...place })
    writes.push({ _tag: "Session", info: named, isNew: true })
    for (const { info: message, parts } of said) {
      writes.push({ _tag: "Message", info: message })
      for (const part of parts) writes.push({ _tag: "Part", part })
    }
    for (const row of inbox) {
      // Storage finds such rows by their id alone: an invented id must not hit a row of another session.
      writes.push({ _tag: "Inbox", row: renameRow({ ...names, message: inboxID }, asNote(row, runs)) })
    }
    if (todos.length > 0) writes.push({ _tag: "Todos", sessionID: named.id, todos })
    return named
  }
  const [, ...below] = archive.sessions
  const sessions = [put(root), ...below.map(put)] as const
  for (const run of archive.runs) writes.push({ _tag: "Run", run: renameRun(names, ended(run)) })
  return { sessions, writes }
}

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
