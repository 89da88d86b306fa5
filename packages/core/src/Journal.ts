/**
 * Owns the order of changes: they are stored first, and only then published on the bus. Each stored row implies its
 * event, and the commits of a tree publish as they were stored.
 */
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Bus } from "./Bus.ts"
import { Failpoints } from "./Failpoints.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Places } from "./StorageFilter.ts"
import type { Entry, EventSource, Fact, FactType, PassingType, RowType, Write } from "./Write.ts"

/** An event that a row implies. */
type RowEvent = {
  readonly [T in RowType]: {
    readonly _tag: "RowEvent"
    readonly source: EventSource
    readonly type: T
    readonly properties: EventProperties<T>
  }
}[RowType]

const rowEvent = <T extends RowType>(source: EventSource, type: T, properties: EventProperties<T>): RowEvent =>
  ({ _tag: "RowEvent", source, type, properties }) as RowEvent

/**
 * The events of a commit, in the order of its entries. Messages, parts and todos of a session that the same commit
 * creates have none of their own: `session.created` covers them. Dies if a row belongs to another session than
 * `source`.
 */
export const eventsOf = (
  entries: ReadonlyArray<Entry>,
  source: EventSource | undefined
): ReadonlyArray<RowEvent | Fact> => {
  const created = new Set<SessionID>()
  for (const entry of entries) if (entry._tag === "Session" && entry.isNew === true) created.add(entry.info.id)
  const events: Array<RowEvent | Fact> = []
  const add = <T extends RowType>(id: SessionID, type: T, properties: EventProperties<T>) => {
    if (created.has(id)) return
    if (source?.id !== id) {
      throw new Error(`A row of the session ${id} was committed for ${source?.id ?? "no session"}.`)
    }
    events.push(rowEvent(source, type, properties))
  }
  for (const entry of entries) {
    switch (entry._tag) {
      case "Fact":
        events.push(entry)
        break
      case "Session": {
        const { info, isNew } = entry
        events.push(rowEvent(info, isNew === true ? "session.created" : "session.updated", { info }))
        break
      }
      case "DeleteSession":
        events.push(rowEvent(entry.info, "session.deleted", { info: entry.info }))
        break
      case "Message":
        add(entry.info.sessionID, "message.updated", { info: entry.info })
        break
      case "Part":
        add(entry.part.sessionID, "message.part.updated", { part: entry.part })
        break
      case "Todos":
        add(entry.sessionID, "todo.updated", { todos: entry.todos })
        break
      default:
        break
    }
  }
  return events
}

/**
 * The result of a commit: the `seq` of the last event that it stored, in the tree of that event; undefined if it stored
 * none.
 */
export interface Committed {
  readonly seq: number | undefined
}

/** The only way to store and to publish. */
export class Journal extends Context.Tag("@skein/core/Journal")<Journal, {
  /** Creates an event that no row implies, for a commit. */
  readonly fact: <T extends FactType>(source: EventSource, type: T, properties: EventProperties<T>) => Fact
  /**
   * Stores entries in one commit, then publishes their events in the same order. `source` is the session that messages,
   * parts and todos belong to. Waits while a listener has no room, and ends when everything is durable. A failed commit
   * publishes nothing. Commits of one tree publish in the order in which they were stored.
   */
  readonly commit: (entries: ReadonlyArray<Entry>, source?: EventSource) => Effect.Effect<Committed, StorageError>
  /**
   * Stores rows of a session in one commit with what the session stores next, if that comes before anything waits; else by
   * themselves, at once. A failed commit drops them.
   */
  readonly owe: (entries: ReadonlyArray<Entry>, source: EventSource) => Effect.Effect<void>
  /** Waits until what a session owes is stored; fails, once, if it could not be. */
  readonly paid: (source: EventSource) => Effect.Effect<void, StorageError>
  /** Whether a session owes rows. */
  readonly owes: (id: SessionID) => boolean
  /** Keeps an event until the next commit of its session, which stores it. */
  readonly later: <T extends FactType>(source: EventSource, type: T, properties: EventProperties<T>) => void
  /** Publishes an ephemeral event. */
  readonly tell: <T extends PassingType>(
    source: EventSource,
    type: T,
    properties: EventProperties<T>,
    now: number
  ) => void
  /** Publishes the progress of a running call. Only the end of the call is stored. */
  readonly report: (source: EventSource, part: ToolPart, now: number) => void
}>() {
  /** A journal over storage and bus. */
  static readonly layer: Layer.Layer<Journal, never, SessionStorage | Bus | Ids> = Layer.scoped(
    Journal,
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const bus = yield* Bus
      const ids = yield* Ids
      const points = yield* Failpoints
      const clock = yield* Effect.clock
      const run = yield* FiberSet.makeRuntime<never>()

      const eventOf = (source: EventSource, type: EventType, properties: unknown, now: number) =>
        ({
          id: ids.unsafeMake("evt", now),
          type,
          timestamp: now,
          sessionID: source.id,
          rootID: source.rootID,
          ...(source.parentID === undefined ? {} : { parentID: source.parentID }),
          depth: source.depth,
          properties
        }) as Event

      const published = (events: ReadonlyArray<Event>, places: Places): Committed => {
        points.hit("result_committed_before_publish")
        let last: number | undefined
        for (const event of events) {
          const seq = places.get(event.id)
          last = seq ?? last
          bus.publish(seq === undefined ? event : { ...event, seq })
        }
        points.hit("published")
        return { seq: last }
      }

      /** The events that the next commit of each session stores. */
      const owed = new Map<SessionID, ReadonlyArray<Fact>>()
      const owe = (facts: ReadonlyArray<Fact>): void => {
        for (const fact of facts) owed.set(fact.source.id, [...owed.get(fact.source.id) ?? [], fact])
      }
      const takeOwed = (entries: ReadonlyArray<Entry>, source: EventSource | undefined): ReadonlyArray<Fact> => {
        if (owed.size === 0) return []
        const changed = new Set(entries.flatMap(sessionsOf))
        if (source !== undefined) changed.add(source.id)
        return [...changed].flatMap((id) => {
          const facts = owed.get(id) ?? []
          owed.delete(id)
          return facts
        })
      }

      const fact = <T extends FactType>(source: EventSource, type: T, properties: EventProperties<T>): Fact => ({
        _tag: "Fact",
        source,
        type,
        properties,
        event: undefined
      })

      const debts = new Map<SessionID, Debt>()

      const commit = (asked: ReadonlyArray<Entry>, source?: EventSource) => {
        const storing = Effect.suspend(() => {
          const found = takeOwed(asked, source)
          const due = asked.some(({ _tag }) => _tag === "DeleteSession") ? [] : found
          const rows = source === undefined ? undefined : debts.get(source.id)?.rows.splice(0)
          const entries = due.length + (rows?.length ?? 0) === 0 ? asked : [...due, ...rows ?? [], ...asked]
          const now = clock.unsafeCurrentTimeMillis()
          const events = eventsOf(entries, source).map((each) =>
            each._tag === "Fact"
              ? each.event ??= eventOf(each.source, each.type, each.properties, now)
              : eventOf(each.source, each.type, each.properties, now)
          )
          const writes = [...entries.flatMap(writeOf), ...events.map((event): Write => ({ _tag: "Event", event }))]
          let committed: Committed | undefined
          // The storage calls it in the order of the commits. Their fibers continue in any order, but no storage need call it.
          const publish = (places: Places): Committed => committed ??= published(events, places)
          const stored = Effect.map(storage.commit(writes, publish), publish)
          return due.length === 0 ? stored : Effect.tapErrorCause(stored, () => Effect.sync(() => owe(due)))
        })
        // A requested commit is stored even if the caller is interrupted meanwhile. Then it must be published as well.
        return Effect.uninterruptible(bus.whenRoom(storing))
      }

      const settle = (id: SessionID, { failed, paying, rows }: Debt): void => {
        if (failed === undefined && paying.size === 0 && rows.length === 0) debts.delete(id)
      }
      /** Stores what is still owed. */
      const pay = (source: EventSource, debt: Debt): void => {
        if (debt.rows.length === 0) return settle(source.id, debt)
        const fiber = run(Effect.either(commit([], source)))
        debt.paying.add(fiber)
        fiber.addObserver((exit) => {
          debt.paying.delete(fiber)
          debt.failed ??= Exit.isSuccess(exit) && Either.isLeft(exit.value) ? exit.value.left : undefined
          settle(source.id, debt)
        })
      }
      const paid = (source: EventSource): Effect.Effect<void, StorageError> =>
        Effect.suspend(() => {
          const debt = debts.get(source.id)
          if (debt === undefined) return Effect.void
          const [fiber] = debt.paying
          if (fiber !== undefined) return Effect.zipRight(Fiber.await(fiber), paid(source))
          if (debt.rows.length > 0) return Effect.asVoid(commit([], source))
          debts.delete(source.id)
          return debt.failed ?? Effect.void
        })

      return {
        fact,
        commit,
        owe: (entries, source) =>
          Effect.withFiberRuntime((fiber) => {
            const debt = debts.get(source.id) ?? { rows: [], paying: new Set(), failed: undefined }
            debts.set(source.id, debt)
            // Runs as soon as the fiber waits, which may have stored something by then.
            if (debt.rows.length === 0) {
              fiber.getFiberRef(FiberRef.currentScheduler).scheduleTask(() => pay(source, debt), 0)
            }
            for (const entry of entries) debt.rows.push(entry)
            return Effect.void
          }),
        paid,
        owes: (id) => {
          const debt = debts.get(id)
          return debt !== undefined && (debt.rows.length > 0 || debt.paying.size > 0)
        },
        later: (source, type, properties) => owe([fact(source, type, properties)]),
        tell: (source, type, properties, now) => bus.publish(eventOf(source, type, properties, now)),
        report: (source, part, now) => bus.publish(eventOf(source, "message.part.updated", { part }, now))
      }
    })
  )
}

/** What a session owes: rows that are not stored, the fibers that store some by themselves, and what went wrong with that. */
interface Debt {
  readonly rows: Array<Entry>
  readonly paying: Set<Fiber.RuntimeFiber<Either.Either<Committed, StorageError>>>
  failed: StorageError | undefined
}

/** The sessions whose events are stored with an entry. */
const sessionsOf = (entry: Entry): ReadonlyArray<SessionID> => {
  if (entry._tag === "Fact") return [entry.source.id]
  return entry._tag === "Session" || entry._tag === "DeleteSession" ? [entry.info.id] : []
}

const writeOf = (entry: Entry): ReadonlyArray<Write> => {
  switch (entry._tag) {
    case "Fact":
      return []
    case "DeleteSession":
      return [{ _tag: "DeleteSession", id: entry.info.id }]
    default:
      return [entry]
  }
}
