/** The content of storage in memory, and how each write changes it. */
import type { ControlRow } from "@skein/domain/Control"
import { ephemeral, type Event } from "@skein/domain/Event"
import type { ControlID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import * as Chunk from "effect/Chunk"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Lease, StoredLease } from "../../Lease.ts"
import { heldByAnother, StorageError } from "../../StorageError.ts"
import type { LoggedEvent, Pruning } from "../../StorageFilter.ts"
import { type Approval, type Receipt, receiptLifetime, type Write } from "../../Write.ts"

/** A session and what belongs to it alone. */
interface Held {
  readonly info: SessionInfo
  readonly isDraft: boolean
  readonly messages: HashMap.HashMap<MessageID, Message>
  readonly parts: HashMap.HashMap<PartID, Part>
  readonly todos: ReadonlyArray<Todo>
  readonly lease: StoredLease
}

/** An inbox row, which stays after it was taken. */
interface HeldInboxRow {
  readonly row: InboxRow
  readonly taken: boolean
}

/** All of it. It is immutable, so a commit that is refused half way has changed nothing. */
export interface State {
  readonly sessions: HashMap.HashMap<SessionID, Held>
  readonly runs: HashMap.HashMap<RunID, TaskRun>
  /** The sessions and runs that count as finished, although their rows do not say so. */
  readonly shelved: HashMap.HashMap<string, true>
  readonly inbox: HashMap.HashMap<MessageID, HeldInboxRow>
  /** The inbox row that reports a run. */
  readonly reports: HashMap.HashMap<RunID, MessageID>
  readonly approvals: HashMap.HashMap<string, Approval>
  readonly controls: HashMap.HashMap<ControlID, ControlRow>
  /** By their keys. */
  readonly receipts: HashMap.HashMap<string, Receipt>
  readonly events: Chunk.Chunk<LoggedEvent>
  readonly eventIDs: HashMap.HashMap<Event["id"], true>
  /** The last event number of each tree. */
  readonly counters: HashMap.HashMap<SessionID, number>
  /** The number of events ever stored. */
  readonly position: number
}

/** Whether a session is stored, but not all of its rows are. */
export const isHidden = ({ sessions }: State, id: SessionID): boolean =>
  Option.exists(HashMap.get(sessions, id), ({ isDraft }) => isDraft)

/** Empty storage. */
export const empty: State = {
  sessions: HashMap.empty(),
  runs: HashMap.empty(),
  shelved: HashMap.empty(),
  inbox: HashMap.empty(),
  reports: HashMap.empty(),
  approvals: HashMap.empty(),
  controls: HashMap.empty(),
  receipts: HashMap.empty(),
  events: Chunk.empty(),
  eventIDs: HashMap.empty(),
  counters: HashMap.empty(),
  position: 0
}

type Applied = Either.Either<State, StorageError>

const refusal = (why: string): StorageError =>
  new StorageError({ operation: "commit", reason: "constraint", message: `The change was refused: ${why}` })

const refused = (why: string): Either.Either<never, StorageError> => Either.left(refusal(why))

const find = (state: State, id: SessionID): Either.Either<Held, StorageError> =>
  Either.fromOption(
    HashMap.get(state.sessions, id),
    () => refusal(`the session ${id}, to which it belongs, is not stored.`)
  )

const change = (state: State, id: SessionID, f: (held: Held) => Either.Either<Held, StorageError>): Applied =>
  Either.map(
    Either.flatMap(find(state, id), f),
    (held) => ({ ...state, sessions: HashMap.set(state.sessions, id, held) })
  )

const free: StoredLease = { owner: undefined, epoch: 0, until: 0, left: 0 }

const nothing = {
  messages: HashMap.empty<MessageID, Message>(),
  parts: HashMap.empty<PartID, Part>(),
  todos: [],
  lease: free
}

const putSession = (state: State, info: SessionInfo, isDraft: boolean): Applied => {
  const { id, parentID } = info
  const held = Option.getOrElse(HashMap.get(state.sessions, id), () => nothing)
  const next = {
    ...state,
    shelved: HashMap.remove(state.shelved, id),
    sessions: HashMap.set(state.sessions, id, { ...held, info, isDraft })
  }
  return parentID === undefined ? Either.right(next) : Either.map(find(next, parentID), () => next)
}

const below = (state: State, ids: ReadonlySet<SessionID>): ReadonlySet<SessionID> => {
  const more = new Set(ids)
  for (const { info } of HashMap.values(state.sessions)) {
    if (info.parentID !== undefined && ids.has(info.parentID)) more.add(info.id)
  }
  return more.size === ids.size ? more : below(state, more)
}

const deleteSession = (state: State, id: SessionID): State => {
  if (!HashMap.has(state.sessions, id)) return state
  const gone = below(state, new Set([id]))
  const inbox = HashMap.filter(state.inbox, ({ row }) => !gone.has(row.sessionID))
  const events = Chunk.filter(state.events, ({ event }) => !gone.has(event.sessionID))
  return {
    ...state,
    inbox,
    events,
    sessions: HashMap.filter(state.sessions, ({ info }) => !gone.has(info.id)),
    runs: HashMap.filter(state.runs, (run) => !gone.has(run.taskID)),
    approvals: HashMap.filter(state.approvals, ({ rootID }) => rootID === undefined || !gone.has(rootID)),
    controls: HashMap.filter(state.controls, ({ sessionID }) => !gone.has(sessionID)),
    receipts: HashMap.filter(state.receipts, ({ sessionID }) => !gone.has(sessionID)),
    reports: HashMap.filter(state.reports, (row) => HashMap.has(inbox, row)),
    eventIDs: HashMap.fromIterable(Chunk.map(events, ({ event }) => [event.id, true] as const))
  }
}

const putApproval = (state: State, approval: Approval): Applied => {
  const next = { ...state, approvals: HashMap.set(state.approvals, approval.id, approval) }
  return approval.rootID === undefined ? Either.right(next) : Either.map(find(state, approval.rootID), () => next)
}

/** Whether a receipt extends the result of the one before, which only the same request does. */
const addsTo = (before: Receipt, { result, sessionID }: Receipt): boolean =>
  sessionID === before.sessionID && result.startsWith(`${before.result} `)

/** With a new request, forgets the answers that nobody has read for so long. */
const putControl = (state: State, row: ControlRow): State => {
  const kept = row.answer !== undefined ? state.controls : HashMap.filter(
    state.controls,
    ({ answer, time }) => answer === undefined || time.created > row.time.created - receiptLifetime
  )
  return { ...state, controls: HashMap.set(kept, row.id, row) }
}

const putReceipt = (state: State, receipt: Receipt): Applied =>
  Either.flatMap(find(state, receipt.sessionID), () => {
    const valid = HashMap.filter(state.receipts, ({ created }) => created > receipt.created - receiptLifetime)
    const before = HashMap.get(valid, receipt.key)
    return Option.isNone(before) || addsTo(before.value, receipt)
      ? Either.right({ ...state, receipts: HashMap.set(valid, receipt.key, receipt) })
      : refused(`another request was carried out under the key ${receipt.key}.`)
  })

const putInbox = (state: State, row: InboxRow): Applied =>
  Either.flatMap(find(state, row.sessionID), () => {
    const before = HashMap.get(state.inbox, row.id)
    const reporting = Option.flatMap(Option.fromNullable(row.runID), (run) => HashMap.get(state.reports, run))
    if (Option.isSome(reporting) && reporting.value !== row.id) {
      return refused(`${reporting.value} already reports the run ${row.runID}.`)
    }
    const previousRun = Option.getOrUndefined(before)?.row.runID
    const reports = previousRun === undefined ? state.reports : HashMap.remove(state.reports, previousRun)
    return Either.right({
      ...state,
      inbox: HashMap.set(state.inbox, row.id, { row, taken: Option.exists(before, (held) => held.taken) }),
      reports: row.runID === undefined ? reports : HashMap.set(reports, row.runID, row.id)
    })
  })

const take = (state: State, id: MessageID, sessionID: SessionID): Applied => {
  const held = HashMap.get(state.inbox, id)
  return Option.isSome(held) && !held.value.taken && held.value.row.sessionID === sessionID
    ? Either.right({ ...state, inbox: HashMap.set(state.inbox, id, { ...held.value, taken: true }) })
    : refused(`the inbox row ${id} was taken already or is not there.`)
}

const putRun = (state: State, run: TaskRun): State => {
  const wasSettled = HashMap.has(state.shelved, run.id)
    || Option.exists(HashMap.get(state.runs, run.id), (before) => before.state === "settled")
  return wasSettled && run.state !== "settled" ? state : { ...state, runs: HashMap.set(state.runs, run.id, run) }
}

const putEvent = (state: State, event: Event): State => {
  if (ephemeral.has(event.type) || HashMap.has(state.eventIDs, event.id)) return state
  const seq = Option.getOrElse(HashMap.get(state.counters, event.rootID), () => 0) + 1
  const position = state.position + 1
  return {
    ...state,
    events: Chunk.append(state.events, { seq, position, event }),
    eventIDs: HashMap.set(state.eventIDs, event.id, true),
    counters: HashMap.set(state.counters, event.rootID, seq),
    position
  }
}

const isOpen = (part: Part): boolean =>
  part.type === "tool" && (part.state.status === "pending" || part.state.status === "running")

const rootsAtWork = (state: State, restingSince: number): ReadonlySet<SessionID> => {
  const roots = new Set<SessionID>()
  for (const { info, parts } of HashMap.values(state.sessions)) {
    if (info.time.updated >= restingSince || HashMap.some(parts, isOpen)) roots.add(info.rootID)
  }
  for (const run of HashMap.values(state.runs)) if (run.state !== "settled") roots.add(run.rootID)
  return roots
}

/** Prunes events, and returns them. */
export const prune = (
  state: State,
  { before, limit, mostPerTree = Number.POSITIVE_INFINITY, restingSince }: Pruning
): readonly [State, gone: number] => {
  const kept = rootsAtWork(state, restingSince)
  const [old] = Chunk.splitWhere(state.events, ({ event }) => event.timestamp >= before)
  const aged = Chunk.toReadonlyArray(old).filter(({ event }) => !kept.has(event.rootID))
  const counts = new Map<SessionID, number>()
  const beyond = Chunk.toReadonlyArray(state.events).toReversed().filter(({ event: { rootID } }) => {
    const count = (counts.get(rootID) ?? 0) + 1
    counts.set(rootID, count)
    return count > mostPerTree
  }).toReversed()
  const candidates = [...new Set([...aged, ...beyond])].slice(0, limit)
  const gone = new Set(candidates.map(({ event }) => event.id))
  const events = Chunk.filter(state.events, ({ event }) => !gone.has(event.id))
  const roots = new Set(Chunk.map(events, ({ event }) => event.rootID))
  return [{
    ...state,
    events,
    eventIDs: HashMap.filter(state.eventIDs, (_, id) => !gone.has(id)),
    // A tree that was deleted with all its events no longer needs a counter.
    counters: HashMap.filter(state.counters, (_, root) => roots.has(root) || HashMap.has(state.sessions, root))
  }, gone.size]
}

type LeaseWrite = Extract<Write, { readonly _tag: "Hold" | "Renew" | "Fence" | "Release" }>

const isHeldBy = ({ epoch, owner }: Lease, stored: StoredLease): boolean =>
  stored.owner === owner && stored.epoch === epoch

const changeLease = (state: State, write: LeaseWrite, now: number): Applied => {
  const { epoch, owner, rootID } = write.lease
  const held = Option.getOrUndefined(HashMap.get(state.sessions, rootID))
  const put = (lease: StoredLease): Applied =>
    held === undefined
      ? Either.right(state)
      : Either.right({ ...state, sessions: HashMap.set(state.sessions, rootID, { ...held, lease }) })
  const stored = held?.lease ?? free
  if (write._tag === "Hold") {
    const { found } = write
    const isAsFound = found.owner === stored.owner && found.epoch === stored.epoch && found.until === stored.until
    return held !== undefined && isAsFound
      ? put({ owner, epoch, until: now + write.length, left: write.length })
      : Either.left(heldByAnother("commit", write.lease))
  }
  const isOurs = isHeldBy(write.lease, stored)
  if (write._tag === "Release") return isOurs ? put({ ...free, epoch }) : Either.right(state)
  if (!isOurs) return Either.left(heldByAnother("commit", write.lease))
  return write._tag === "Renew"
    ? put({ owner, epoch, until: now + write.length, left: write.length })
    : Either.right(state)
}

/** Applies one write at a time by the clock of the storage, or returns why it is refused. */
export const apply = (state: State, write: Write, now: number): Applied => {
  switch (write._tag) {
    case "Session":
      return putSession(state, write.info, write.isDraft === true)
    case "DeleteSession":
      return Either.right(deleteSession(state, write.id))
    case "Message":
      return change(
        state,
        write.info.sessionID,
        (held) => Either.right({ ...held, messages: HashMap.set(held.messages, write.info.id, write.info) })
      )
    case "Part": {
      const { part } = write
      return change(state, part.sessionID, (held) =>
        HashMap.has(held.messages, part.messageID)
          ? Either.right({ ...held, parts: HashMap.set(held.parts, part.id, part) })
          : refused(`the message ${part.messageID}, to which the part ${part.id} belongs, is not stored.`))
    }
    case "RemovePart":
      return Either.right({
        ...state,
        sessions: HashMap.modify(state.sessions, write.sessionID, (held) => ({
          ...held,
          parts: HashMap.remove(held.parts, write.id)
        }))
      })
    case "Shelve":
      return Either.right({ ...state, shelved: HashMap.set(state.shelved, write.id, true) })
    case "Run":
      return Either.map(find(state, write.run.taskID), () => putRun(state, write.run))
    case "Inbox":
      return putInbox(state, write.row)
    case "InboxTaken":
      return take(state, write.id, write.sessionID)
    case "Event":
      return Either.right(putEvent(state, write.event))
    case "Approval":
      return putApproval(state, write.approval)
    case "RemoveApproval":
      return Either.right({ ...state, approvals: HashMap.remove(state.approvals, write.id) })
    case "Control":
      return Either.map(
        find(state, write.row.sessionID),
        () =>
          write.row.answer === undefined || HashMap.has(state.controls, write.row.id)
            ? putControl(state, write.row)
            : state
      )
    case "RemoveControl":
      return Either.right({ ...state, controls: HashMap.remove(state.controls, write.id) })
    case "Receipt":
      return putReceipt(state, write.receipt)
    case "Todos":
      return change(state, write.sessionID, (held) => Either.right({ ...held, todos: write.todos }))
    case "Hold":
    case "Renew":
    case "Fence":
    case "Release":
      return changeLease(state, write, now)
  }
}
