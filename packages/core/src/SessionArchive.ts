/**
 * Exports whole trees of sessions from storage, and imports them: all of a tree, or nothing. An archive is validated
 * before anything is stored, and both read and written row by row.
 */
import { Archive, ArchivedSession, format, version } from "@skein/domain/Archive"
import { Ids, type MessageID, type PartID, type RunID, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import { mayEdit } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Handling, JsonCutter, type Path } from "./internal/cutJson.ts"
import {
  anew,
  messageRenamer,
  messageWrites,
  type Names,
  renameRow,
  renameRun,
  renameSession,
  unchanged
} from "./internal/renamed.ts"
import { type Put, storeDraft } from "./internal/storeDraft.ts"
import { deepest, isTextNested } from "./Nesting.ts"
import { checkOf } from "./SchemaCheck.ts"
import { eachMessagePage, type Found, SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import { smallPage } from "./StorageFilter.ts"
import { notFound, type SessionNotFound } from "./Turn.ts"
import type { Write } from "./Write.ts"

/** The text is not an archive, or cannot be imported. `path` leads to the fault, if it is in one place. */
export class ArchiveInvalid extends Schema.TaggedError<ArchiveInvalid>()("ArchiveInvalid", {
  reason: Schema.Literal("not_json", "foreign", "newer", "invalid", "exists"),
  path: Schema.optional(Schema.String),
  message: Schema.String
}) {}

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

const noJson = (why: string) =>
  new ArchiveInvalid({
    reason: "not_json",
    message: `The archive is not JSON, or was cut off (${
      cut(why.replaceAll(/\s+/g, " "))
    }). Nothing was stored. Export the tree again.`
  })

const empty = () =>
  new ArchiveInvalid({
    reason: "not_json",
    message: "The archive is empty. Write one with `skein sessions export ID --output FILE`."
  })

const foreign = () =>
  new ArchiveInvalid({
    reason: "foreign",
    path: "$.format",
    message: `This is no archive of Skein: its "format" is not "${format}". `
      + "Write one with `skein sessions export ID --output FILE`."
  })

const newer = (written: number) =>
  new ArchiveInvalid({
    reason: "newer",
    path: "$.version",
    message: `The archive has version ${written}, and this version of Skein reads archives up to ${version}. `
      + "Nothing was stored. Use a newer Skein."
  })

/** A row of an archive, with the number of characters that it has there. */
type ArchivedRow =
  & { readonly size: number }
  & (
    | { readonly type: "session"; readonly info: SessionInfo }
    | { readonly type: "message"; readonly message: MessageWithParts }
    | { readonly type: "inbox"; readonly row: InboxRow }
    | { readonly type: "todos"; readonly sessionID: SessionID; readonly todos: ReadonlyArray<Todo> }
    | { readonly type: "run"; readonly run: TaskRun }
  )

/** How much deeper than its own fields a row may be nested. */
const around = 4

/** Decodes the text of a row, or says at which place below it the fault is. */
const decoding = <A, I>(schema: Schema.Schema<A, I>) => {
  let fits: ReturnType<typeof checkOf> | undefined
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "preserve" })
  return (path: Path, text: string): A | ArchiveInvalid => {
    if (isTextNested(text, deepest + around)) return invalid(path, `it is nested more than ${deepest} levels deep`)
    const parsed = Either.try({ try: () => JSON.parse(text) as unknown, catch: String })
    if (Either.isLeft(parsed)) return noJson(parsed.left)
    fits ??= checkOf(schema.ast)
    if (fits(parsed.right)) return parsed.right as A
    const decoded = decode(parsed.right)
    if (Either.isRight(decoded)) return decoded.right
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    return invalid([...path, ...(issue?.path ?? [])], issue?.message ?? decoded.left.message)
  }
}

const isFault = (value: unknown): value is ArchiveInvalid => value instanceof ArchiveInvalid

const decodeValue = decoding(Schema.Unknown)
const decodeSession = decoding(ArchivedSession.fields.info)
const decodeMessage = decoding(ArchivedSession.fields.messages.value)
const decodeInbox = decoding(ArchivedSession.fields.inbox.value)
const decodeTodos = decoding(ArchivedSession.fields.todos)
const decodeRun = decoding(Archive.fields.runs.value)

const lists: ReadonlySet<unknown> = new Set(["messages", "inbox"])

const handlingOf = ([key, , field]: Path, depth: number, first: string): Handling => {
  if (depth === 0) return "enter"
  if (key !== "sessions" && key !== "runs") {
    return depth === 1 && key !== undefined && key in Archive.fields
      ? "keep"
      : "skip"
  }
  if (depth === 1) return first === "[" ? "enter" : "keep"
  if (key === "runs") return "keep"
  if (depth === 2) return first === "{" ? "enter" : "keep"
  if (depth === 3 && lists.has(field)) return first === "[" ? "enter" : "keep"
  return depth > 3 || (field !== undefined && field in ArchivedSession.fields) ? "keep" : "skip"
}

/** Reads an archive row by row, and checks that each belongs to an earlier one, and is there once. */
class ArchiveReader {
  readonly #cutter = new JsonCutter((path, first) => handlingOf(path, path.length, first))
  readonly #head = new Map<unknown, unknown>()
  readonly #known = new Map<string, SessionInfo>()
  readonly #runs = new Set<string>()
  #isBlank = true
  #info: SessionInfo | undefined
  /** The keys of the session that is being read. */
  #keys = new Set<unknown>()
  #last = ""
  #parts = new Set<string>()

  /** What is wrong at the end of the text. */
  get fault(): ArchiveInvalid | undefined {
    return this.#isBlank ? empty() : this.#cutter.isDone ? undefined : noJson("its end is missing")
  }

  /** The next rows, up to the first fault. */
  *read(chunk: string): Generator<ArchivedRow | ArchiveInvalid> {
    if (this.#isBlank) {
      const first = chunk.trimStart().charAt(0)
      // Any other JSON value is not read to its end.
      if (first !== "" && first !== "{") yield /["[tfn\d-]/.test(first) ? foreign() : noJson(`it begins with ${first}`)
      this.#isBlank = first === ""
    }
    const pieces = this.#cutter.push(chunk)
    for (const { path, text } of pieces ?? []) {
      const found = text === undefined ? this.#end(path) : this.#take(path, text)
      if (found !== undefined) yield found
    }
    if (pieces === undefined) yield noJson("a character is at a place where it cannot be")
  }

  #checkHead(): ArchiveInvalid | undefined {
    if (this.#head.get("format") !== format) return foreign()
    const written = this.#head.get("version")
    if (typeof written === "number" && written > version) return newer(written)
    if (written !== version) return invalid(["version"], `it is not ${version}`)
    return typeof this.#head.get("root") === "string"
      ? undefined
      : invalid(["root"], "it has to be before the sessions")
  }

  #end(path: Path): ArchiveInvalid | undefined {
    const [key, , field] = path
    if (path.length === 0) {
      const missing = Object.keys(Archive.fields).find((each) => !this.#head.has(each))
      return this.#checkHead() ?? (missing === undefined ? undefined : invalid([missing], "it is missing"))
    }
    if (path.length === 1) {
      this.#head.set(key, undefined)
      return key === "sessions" && this.#known.size === 0 ? invalid(["sessions"], "there is none") : undefined
    }
    if (path.length === 3) this.#keys.add(field)
    if (path.length !== 2) return undefined
    const missing = Object.keys(ArchivedSession.fields).find((each) => !this.#keys.has(each))
    this.#keys = new Set()
    this.#info = undefined
    return missing === undefined ? undefined : invalid([...path, missing], "it is missing")
  }

  #take(path: Path, text: string): ArchivedRow | ArchiveInvalid | undefined {
    const size = text.length
    const [key, , field] = path
    if (path.length < 2 && key !== "sessions" && key !== "runs") {
      const value = decodeValue(path, text)
      if (isFault(value)) return value
      this.#head.set(key, value)
      return undefined
    }
    const fault = this.#checkHead()
    if (fault !== undefined) return fault
    if (path.length === 1) return invalid(path, "it is not a list")
    if (key === "runs") {
      const run = decodeRun(path, text)
      return isFault(run) ? run : this.#run(path, run) ?? { type: "run", run, size }
    }
    if (path.length === 2) return invalid(path, "it is not an object")
    if (path.length === 3) this.#keys.add(field)
    if (field === "info") {
      const info = decodeSession(path, text)
      return isFault(info) ? info : this.#session(path, info) ?? { type: "session", info, size }
    }
    const info = this.#info
    if (info === undefined) return invalid([...path.slice(0, 2), "info"], "it has to be the first of its session")
    if (field === "todos") {
      const todos = decodeTodos(path, text)
      return isFault(todos) ? todos : { type: "todos", sessionID: info.id, todos, size }
    }
    if (path.length === 3) return invalid(path, "it is not a list")
    if (field === "inbox") {
      const row = decodeInbox(path, text)
      if (isFault(row)) return row
      return row.sessionID === info.id
        ? { type: "inbox", row, size }
        : invalid([...path, "sessionID"], `it is not ${info.id}`)
    }
    const message = decodeMessage(path, text)
    return isFault(message) ? message : this.#message(path, message, info) ?? { type: "message", message, size }
  }

  #session(at: Path, info: SessionInfo): ArchiveInvalid | undefined {
    const root = this.#head.get("root")
    const isFirst = this.#known.size === 0
    const above = info.parentID === undefined ? undefined : this.#known.get(info.parentID)
    if (isFirst && info.id !== root) return invalid([...at, "id"], "the first session is not the root")
    if (isFirst ? info.parentID !== undefined : above === undefined) {
      return invalid([...at, "parentID"], isFirst ? "the root has a parent" : "no session before this is its parent")
    }
    if (info.rootID !== root) return invalid([...at, "rootID"], `it is not ${String(root)}`)
    const depth = above === undefined ? 0 : above.depth + 1
    if (info.depth !== depth) return invalid([...at, "depth"], `it is not ${depth}, one more than its parent's`)
    if (this.#known.has(info.id)) return invalid([...at, "id"], `${info.id} is there twice`)
    this.#known.set(info.id, info)
    this.#info = info
    this.#last = ""
    this.#parts = new Set()
    return undefined
  }

  #message(at: Path, { info, parts }: MessageWithParts, { id }: SessionInfo): ArchiveInvalid | undefined {
    if (info.sessionID !== id) return invalid([...at, "info", "sessionID"], `it is not ${id}`)
    if (info.id <= this.#last) return invalid([...at, "info", "id"], "ids have to ascend")
    this.#last = info.id
    let before = ""
    for (const [p, part] of parts.entries()) {
      const where = [...at, "parts", p]
      if (part.sessionID !== id) return invalid([...where, "sessionID"], `it is not ${id}`)
      if (part.messageID !== info.id) return invalid([...where, "messageID"], `it is not ${info.id}`)
      if (part.id <= before || this.#parts.has(part.id)) {
        return invalid([...where, "id"], "ids have to ascend, each there once")
      }
      before = part.id
      this.#parts.add(part.id)
    }
    return undefined
  }

  #run(at: Path, run: TaskRun): ArchiveInvalid | undefined {
    if (this.#runs.has(run.id)) return invalid([...at, "id"], `${run.id} is there twice`)
    this.#runs.add(run.id)
    if (run.rootID !== this.#head.get("root")) return invalid([...at, "rootID"], `it is not the root of the archive`)
    const lost = (["taskID", "parentID"] as const).find((key) => !this.#known.has(run[key]))
    return lost === undefined ? undefined : invalid([...at, lost], `the session ${run[lost]} is not in the archive`)
  }
}

/** Calls `use` with each row of an archive, from the first on. Memory holds one chunk of the text, and what `use` keeps. */
const eachRow = <E, R, E2 = never, R2 = never>(
  archive: Stream.Stream<Uint8Array, E, R>,
  use: (row: ArchivedRow) => Effect.Effect<void, E2, R2> | undefined
): Effect.Effect<void, ArchiveInvalid | E | E2, R | R2> =>
  Effect.suspend(() => {
    const reader = new ArchiveReader()
    const decoder = new TextDecoder("utf-8", { fatal: true })
    const textOf = (bytes?: Uint8Array) =>
      Effect.try({
        try: () => bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }),
        catch: () => noJson("it is not UTF-8")
      })
    const take = Effect.fnUntraced(function*(text: string) {
      for (const row of reader.read(text)) {
        if (isFault(row)) return yield* row
        const used = use(row)
        if (used !== undefined) yield* used
      }
    })
    return Stream.runForEach(archive, (bytes) => Effect.flatMap(textOf(bytes), take)).pipe(
      Effect.zipRight(Effect.flatMap(textOf(), take)),
      Effect.zipRight(Effect.suspend(() => reader.fault ?? Effect.void))
    )
  })

const exists = (id: string) =>
  new ArchiveInvalid({
    reason: "exists",
    message: `${id} of the archive is stored here already. Nothing was stored. `
      + "`--as-copy` takes the tree in under new ids; or delete the session that is here first."
  })

/** What an archive has besides messages, which are too many to keep. */
interface Skeleton {
  readonly sessions: ReadonlyArray<SessionInfo>
  readonly runs: ReadonlySet<RunID>
  /** The parts that runs name. */
  readonly parts: ReadonlySet<PartID>
  readonly messages: ReadonlyArray<MessageID>
}

/** Fails if a session or a run of the archive is stored already, because it would be overwritten. */
const refuseKnown = Effect.fnUntraced(function*({ runs, sessions }: Skeleton) {
  const storage = yield* SessionStorage
  for (const { id } of sessions) if (Option.isSome(yield* storage.session(id))) return yield* exists(id)
  for (const id of runs) if (Option.isSome(yield* storage.run(id))) return yield* exists(id)
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

/** A run that was in progress in the archive does not continue here: Skein cannot tell its outcome. */
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
      let count = 0
      yield* eachMessagePage(info.id, (said) => {
        for (const each of said.unreadable) unreadable.push(each)
        return Effect.forEach(said.rows, (each) => write(`${count++ === 0 ? "" : ","}${JSON.stringify(each)}`), {
          discard: true
        })
      }, smallPage)
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

/** The same as a stream, which reads the tree only as fast as it is taken. What cannot be read is missing. */
export const exportStream = (
  id: SessionID
): Stream.Stream<Uint8Array, SessionNotFound | StorageError, SessionStorage> =>
  Stream.encodeText(Stream.unwrapScoped(Effect.gen(function*() {
    const pieces = yield* Mailbox.make<string, SessionNotFound | StorageError>({ capacity: 1 })
    const writing = exportTree(id, (piece) => Effect.asVoid(pieces.offer(piece)))
    yield* Effect.forkScoped(Mailbox.into(Effect.asVoid(writing), pieces))
    return Mailbox.toStream(pieces)
  })))

/** What cannot be read of a tree, and so would be missing from its export. */
export const unreadableOf = (id: SessionID) =>
  Effect.map(exportTree(id, () => Effect.void), ({ unreadable }) => unreadable)

/** What is stored in a commit of an import, unless a single row is larger. */
const importPage = { rows: 200, characters: 64_000 } as const

/** Stores the rows of an archive, a page at a time. */
const putRows = <E, R>(
  archive: Stream.Stream<Uint8Array, E, R>,
  put: Put,
  writesOf: (row: ArchivedRow) => ReadonlyArray<Write>
) =>
  Effect.suspend(() => {
    let page: Array<Write> = []
    let characters = 0
    const flush = Effect.suspend(() => {
      const writes = page
      page = []
      characters = 0
      return writes.length === 0 ? Effect.void : put(writes)
    })
    return Effect.zipRight(
      eachRow(archive, (row) => {
        for (const write of writesOf(row)) page.push(write)
        characters += row.size
        return page.length < importPage.rows && characters < importPage.characters ? undefined : flush
      }),
      flush
    )
  })

/** Makes what turns rows of an archive into writes. It is called with the rows in their order. */
const makeWritesOf = (names: Names, inboxID: Names["message"], runs: ReadonlySet<string>) => {
  let rename = messageRenamer(names)
  return (found: ArchivedRow): ReadonlyArray<Write> => {
    switch (found.type) {
      case "session":
        rename = messageRenamer(names)
        return []
      case "message":
        return messageWrites(rename(found.message))
      case "inbox":
        // Storage finds such rows by their id alone: an invented id must not hit a row of another session.
        return [{ _tag: "Inbox", row: renameRow({ ...names, message: inboxID }, asNote(found.row, runs)) }]
      case "todos":
        return found.todos.length === 0
          ? []
          : [{ _tag: "Todos", sessionID: names.session(found.sessionID), todos: found.todos }]
      case "run":
        return [{ _tag: "Run", run: renameRun(names, ended(found.run)) }]
    }
  }
}

/** What the sessions of an archive would continue with. */
export interface Chosen {
  readonly directory: string
  readonly providers: ReadonlySet<string>
}

/** The models that later requests may use because of a row. */
const modelsIn = (row: ArchivedRow): ReadonlyArray<ModelRef> => {
  switch (row.type) {
    case "session":
      return [...row.info.model === undefined ? [] : [row.info.model], ...row.info.turn?.models?.refs ?? []]
    case "message":
      return row.message.info.role === "user" && row.message.info.model !== undefined ? [row.message.info.model] : []
    case "inbox":
      return "model" in row.row && row.row.model !== undefined ? [row.row.model] : []
    default:
      return []
  }
}

/**
 * Imports an archive, once all of it is valid; returns the root. It is read twice, and appears here with the last commit: if
 * that is not reached, nothing is left. `copy` gives every row a new id, so that the original may exist as well; without it,
 * a tree that exists already is refused. `place` is the new directory of all its sessions, whose author must not put one of
 * them into another directory or project; by default that is the root's directory. `projectOf` gives the project of that
 * directory: without it, the archive names the project. `accept` may refuse what the archive chooses. Worktrees are not imported, so their tasks continue in the new
 * directory.
 */
export const importTree = Effect.fn("SessionArchive.import")(
  function*<E = never, R = never, E2 = never, R2 = never>(archive: Stream.Stream<Uint8Array, E, R>, options: {
    readonly copy?: boolean
    readonly place?: Pick<SessionInfo, "directory" | "projectID">
    readonly projectOf?: (directory: string) => Effect.Effect<string>
    readonly accept?: (chosen: Chosen) => Effect.Effect<void, E2, R2>
  } = {}) {
    const ids = yield* Ids
    const skeleton = {
      sessions: [] as Array<SessionInfo>,
      runs: new Set<RunID>(),
      parts: new Set<PartID>(),
      messages: [] as Array<MessageID>
    }
    const providers = new Set<string>()
    yield* eachRow(archive, (row) => {
      for (const { providerID } of modelsIn(row)) providers.add(providerID)
      if (row.type === "session") skeleton.sessions.push(row.info)
      else if (row.type === "message" && options.copy === true) skeleton.messages.push(row.message.info.id)
      else if (row.type === "run") {
        skeleton.runs.add(row.run.id)
        if (row.run.partID !== undefined) skeleton.parts.add(row.run.partID)
      }
      return undefined
    })
    const [root, ...below] = skeleton.sessions
    if (root === undefined) return yield* invalid(["sessions"], "there is none")
    if (options.copy !== true) yield* refuseKnown(skeleton)
    if (options.accept !== undefined) yield* options.accept({ directory: root.directory, providers })
    const { directory, projectID } = root
    const place = options.place ??
      { directory, projectID: yield* options.projectOf?.(directory) ?? Effect.succeed(projectID) }
    const now = yield* Clock.currentTimeMillis
    const fresh = anew(ids, now, skeleton.parts)
    const names = options.copy === true ? { ...fresh, metadata: renamed(skeleton, fresh) } : unchanged
    const session = (info: SessionInfo) => renameSession(names, { ...cautious(info), ...place })
    const sessions = [session(root), ...below.map(session)] as const
    yield* storeDraft({
      sessions,
      rows: (put) => putRows(archive, put, makeWritesOf(names, fresh.message, skeleton.runs))
    })
    return sessions[0]
  }
)

/** Gives what the archive has new ids, in its order, and renames them in texts. */
const renamed = ({ messages, runs, sessions }: Skeleton, names: Names): (text: string) => string => {
  const known = new Map<string, string>()
  for (const { id } of sessions) known.set(id, names.session(id))
  // Runs are sorted by id, so inboxes must look up the ids in the same order.
  for (const id of runs) known.set(id, names.run(id))
  for (const id of messages) names.message(id)
  return (text) => known.get(text) ?? text
}
