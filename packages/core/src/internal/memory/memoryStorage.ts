/** Storage that lasts as long as the process, and refuses what database storage refuses. */
import type { Event } from "@skein/domain/Event"
import type { ControlID, EventID, RunID, SessionID } from "@skein/domain/Id"
import { hasOpenTurn, startsLoop, stopsOf } from "@skein/domain/InboxRow"
import type { Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { listedTitle } from "@skein/domain/Typed"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { StoredLease } from "../../Lease.ts"
import {
  type EventFilter,
  type Following,
  type Found,
  type Identified,
  type LoggedEvent,
  type Newest,
  pageOfMessages,
  type Places,
  type Pruning,
  type RunFilter,
  type SessionFilter
} from "../../StorageFilter.ts"
import { type Approval, receiptLifetime, type Write } from "../../Write.ts"
import { apply, empty, isHidden, prune, type State } from "./memoryState.ts"

const ranks: Readonly<Record<Write["_tag"], number>> = {
  DeleteSession: 0,
  Session: 0,
  Message: 1,
  Part: 2,
  RemovePart: 2,
  Run: 3,
  Shelve: 4,
  Inbox: 4,
  InboxTaken: 5,
  Approval: 6,
  RemoveApproval: 6,
  Control: 6,
  RemoveControl: 6,
  Todos: 7,
  Receipt: 7,
  Event: 8,
  Hold: 9,
  Renew: 9,
  Fence: 9,
  Release: 9
}

const byRank = Order.mapInput(Order.number, (write: Write) => ranks[write._tag])
const fromTheTop = Order.mapInput(Order.number, (write: Write) => (write._tag === "Session" ? write.info.depth : 0))

/**
 * Sorts a commit so that a row comes after the row that it belongs to, as a database allows, but never across a
 * deletion.
 */
const inOrder = (writes: ReadonlyArray<Write>): ReadonlyArray<Write> => {
  const at = writes.findIndex((write) => write._tag === "DeleteSession")
  const head = at < 0 ? writes : writes.slice(0, at)
  const sorted = head.toSorted(Order.combine(byRank, fromTheTop))
  return at < 0 ? sorted : [...sorted, ...writes.slice(at, at + 1), ...inOrder(writes.slice(at + 1))]
}

const byID = Order.mapInput(Order.string, (row: { readonly id: string }) => row.id)
const byCreated = Order.mapInput(Order.number, (row: Approval) => row.created)
const newestFirst: Order.Order<SessionInfo> = Order.combine(
  Order.reverse(Order.mapInput(Order.number, (info) => info.time.updated)),
  Order.reverse(byID)
)

const all = <A>(rows: ReadonlyArray<A>): Found<A> => ({ rows, unreadable: [] })
const matches = <A>(expected: A | undefined, value: A | undefined): boolean =>
  expected === undefined || expected === value

/** Shows the current row of an event; none if it was deleted. */
const asOfNow = (state: State, event: Event): Option.Option<Event> => {
  const held = HashMap.get(state.sessions, event.sessionID)
  switch (event.type) {
    case "session.updated":
      if (event.properties.info.id !== event.sessionID) return Option.some(event)
      return Option.map(held, ({ info }) => ({ ...event, properties: { info } }))
    case "message.updated": {
      const { id, sessionID } = event.properties.info
      if (sessionID !== event.sessionID) return Option.some(event)
      return Option.map(Option.flatMap(held, ({ messages }) => HashMap.get(messages, id)), (info) => ({
        ...event,
        properties: { info }
      }))
    }
    case "message.part.updated": {
      const { id, sessionID } = event.properties.part
      if (sessionID !== event.sessionID) return Option.some(event)
      return Option.map(Option.flatMap(held, ({ parts }) => HashMap.get(parts, id)), (part) => ({
        ...event,
        properties: { part }
      }))
    }
    default:
      return Option.some(event)
  }
}

const messagesOf = (state: State, id: SessionID) => {
  const held = HashMap.get(state.sessions, id)
  if (Option.isNone(held)) return all([])
  const messages = HashMap.toValues(held.value.messages).toSorted(byID)
  const partsOf = new Map(messages.map((info) => [info.id, [] as Array<Part>]))
  for (const part of HashMap.toValues(held.value.parts).toSorted(byID)) partsOf.get(part.messageID)?.push(part)
  return all(messages.map((info) => ({ info, parts: partsOf.get(info.id) ?? [] })))
}

const eventsOf = (state: State, { after, limit = Number.POSITIVE_INFINITY, rootID, types }: EventFilter) => {
  const found: Array<LoggedEvent> = []
  for (const { event, position, seq } of state.events) {
    if (found.length >= limit) break
    const place = rootID === undefined ? position : seq
    if (place <= after || !matches(rootID, event.rootID) || types?.includes(event.type) === false) continue
    const now = asOfNow(state, event)
    if (Option.isSome(now)) found.push({ seq, position, event: now.value })
  }
  return found
}

/** Whether a session comes after this position of a listing, which begins with the latest change. */
const isAfter = (info: SessionInfo, after: SessionFilter["after"]): boolean =>
  after === undefined || info.time.updated < after.updated
  || (info.time.updated === after.updated && info.id < after.id)

const rangeOf = ({ counters, events, position: end }: State, rootID: SessionID | undefined) => {
  const last = rootID === undefined ? end : Option.getOrElse(HashMap.get(counters, rootID), () => 0)
  const first = Chunk.findFirst(events, ({ event }) => matches(rootID, event.rootID))
  return {
    first: Option.match(first, {
      onNone: () => last + 1,
      onSome: ({ position, seq }) => rootID === undefined ? position : seq
    }),
    last
  }
}

const leaseOf = (state: State, rootID: SessionID, now: number): Option.Option<StoredLease> =>
  Option.map(HashMap.get(state.sessions, rootID), ({ lease }) => ({ ...lease, left: Math.max(0, lease.until - now) }))

const leasesOf = (state: State, rootIDs: ReadonlyArray<SessionID>, now: number): ReadonlyMap<SessionID, StoredLease> =>
  new Map(
    rootIDs.flatMap((rootID) =>
      Option.toArray(Option.map(leaseOf(state, rootID, now), (lease) => [rootID, lease] as const))
    )
  )

const shownRuns = (state: State) => HashMap.toValues(state.runs).filter(({ rootID }) => !isHidden(state, rootID))

const unfinishedOf = (state: State): ReadonlyArray<SessionID> => {
  const roots = new Set<SessionID>()
  const isShelved = (id: string) => HashMap.has(state.shelved, id)
  for (const run of HashMap.values(state.runs)) {
    if (run.state !== "settled" && !isShelved(run.id)) roots.add(run.rootID)
  }
  const find = (id: SessionID) => Option.getOrUndefined(HashMap.get(state.sessions, id))?.info
  for (const { row, taken } of HashMap.values(state.inbox)) {
    const info = find(row.sessionID)
    if (taken || info === undefined) continue
    const stops = { all: stopsOf(find, info.id), above: stopsOf(find, info.parentID) }
    if (startsLoop(row, stops)) roots.add(info.rootID)
  }
  for (const { info, isDraft } of HashMap.values(state.sessions)) {
    const isLeft = info.turn?.leftAlone === true
    if (hasOpenTurn(info) && !isLeft && !isDraft && !isShelved(info.id)) roots.add(info.rootID)
  }
  return [...roots]
}

/** The reads that servers need. */
const forServers = (state: () => State) => ({
  eventRange: (rootID?: SessionID) => Effect.sync(() => rangeOf(state(), rootID)),
  receipt: (key: string) =>
    Effect.map(
      Clock.currentTimeMillis,
      (now) => Option.filter(HashMap.get(state().receipts, key), ({ created }) => created > now - receiptLifetime)
    ),
  unfinished: Effect.sync(() => unfinishedOf(state()))
})

/** Makes an empty storage. */
export const makeMemoryStorage = () => {
  let state: State = empty
  const read = <A>(f: () => A): Effect.Effect<A> => Effect.sync(f)

  return {
    commit: (writes: ReadonlyArray<Write>, onStored?: (places: Places) => void) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const applied = inOrder(writes).reduce(
          (before, write) => Either.flatMap(before, (each) => apply(each, write, now)),
          Either.right(state) as ReturnType<typeof apply>
        )
        if (Either.isLeft(applied)) return Effect.fail(applied.left)
        const places = new Map<EventID, number>()
        const { events, position: last } = applied.right
        for (const { event, position, seq } of Chunk.takeRight(events, last - state.position)) {
          if (position > state.position) places.set(event.id, seq)
        }
        state = applied.right
        onStored?.(places)
        return Effect.succeed(places)
      }),
    session: (id: SessionID) =>
      read(() =>
        Option.map(Option.filter(HashMap.get(state.sessions, id), ({ isDraft }) => !isDraft), ({ info }) => info)
      ),
    ids: (of: Identified, start: string, limit: number) =>
      read(() => {
        const found = new Set<string>(
          of === "sessions"
            ? HashMap.keys(HashMap.filter(state.sessions, ({ isDraft }) => !isDraft))
            : shownRuns(state).map(({ id, taskID }) => of === "tasks" ? taskID : id)
        )
        return [...found].filter((id) => id.startsWith(start)).toSorted(Order.string).slice(0, limit)
      }),
    lease: (rootID: SessionID) => Effect.map(Clock.currentTimeMillis, (now) => leaseOf(state, rootID, now)),
    leases: (rootIDs: ReadonlyArray<SessionID>) =>
      Effect.map(Clock.currentTimeMillis, (now) => leasesOf(state, rootIDs, now)),
    sessions: ({ after, drafts = false, limit, parentID, projectID, rootID, roots }: SessionFilter) =>
      read(() => {
        const kind = HashMap.filter(state.sessions, ({ isDraft }) => isDraft === drafts)
        const found = HashMap.toValues(kind).map((held) => held.info).filter((info) =>
          matches(projectID, info.projectID) && matches(rootID, info.rootID) && matches(parentID, info.parentID)
          && (roots !== true || info.parentID === undefined) && isAfter(info, after)
        )
        const listed = found.toSorted(newestFirst).slice(0, limit)
        return all(roots === true ? listed.map((info) => ({ ...info, title: listedTitle(info.title) })) : listed)
      }),
    messages: (id: SessionID) => read(() => messagesOf(state, id)),
    messagePage: (id: SessionID, page: Following | Newest) =>
      read(() => ({ ...pageOfMessages(messagesOf(state, id).rows, page), unreadable: [] })),
    run: (id: RunID) =>
      read(() => Option.filter(HashMap.get(state.runs, id), ({ rootID }) => !isHidden(state, rootID))),
    runs: ({ newest, parentID, rootID, taskID, unsettled }: RunFilter) =>
      read(() => {
        const found = shownRuns(state).filter((run) =>
          matches(taskID, run.taskID) && matches(parentID, run.parentID) && matches(rootID, run.rootID)
          && (unsettled !== true || (run.state !== "settled" && !HashMap.has(state.shelved, run.id)))
        )
        const sorted = found.filter(({ id }) => newest?.before === undefined || id < newest.before).toSorted(byID)
        return all(newest === undefined ? sorted : sorted.slice(Math.max(0, sorted.length - newest.limit)))
      }),
    waiting: (rootID: SessionID) =>
      read(() =>
        [...HashMap.values(state.controls)].filter((row) => row.rootID === rootID && row.answer === undefined)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      ),
    control: (id: ControlID) => read(() => HashMap.get(state.controls, id)),
    inbox: (id: SessionID) =>
      read(() => {
        const found = HashMap.toValues(state.inbox).filter((held) => !held.taken && held.row.sessionID === id)
        return all(found.map((held) => held.row).toSorted(byID))
      }),
    events: (filter: EventFilter) => read(() => eventsOf(state, filter)),
    ...forServers(() => state),
    prune: (events: Pruning) =>
      read(() => {
        const [next, gone] = prune(state, events)
        if (events.dryRun !== true) state = next
        return gone
      }),
    approvals: (projectID: string, rootID?: SessionID) =>
      read(() =>
        HashMap.toValues(state.approvals).filter((each) =>
          each.projectID === projectID
          && (rootID === undefined || each.rootID === undefined || each.rootID === rootID)
        ).toSorted(Order.combine(byCreated, byID))
      ),
    todos: (id: SessionID) =>
      read(() => Option.match(HashMap.get(state.sessions, id), { onNone: () => [], onSome: (held) => held.todos }))
  }
}
