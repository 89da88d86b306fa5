/** Owns the events of one tree for all clients that watch it: in the order of their `seq`, each encoded once. */
import { Bus } from "@skein/core/Bus"
import { FairSemaphore } from "@skein/core/Fibers"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOutage, type StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Audience, type EventClient } from "./EventClient.ts"
import { frameOf, resetFrame } from "./frames.ts"
import { readStored } from "./readStored.ts"
import { makeElsewhere, type Statuses } from "./statuses.ts"

interface Growing {
  /** The event of the last delta. */
  readonly last: Event<"message.part.delta">
  /** The part as of its last event; undefined if only deltas arrived. */
  readonly part: Part | undefined
  text: string
}

const textOf = (part: Part | undefined): string => part?.type === "text" || part?.type === "reasoning" ? part.text : ""

const grown = ({ last, part, text }: Growing): Event<"message.part.updated"> => {
  const { field, messageID, partID } = last.properties
  const base = part ?? {
    id: partID,
    sessionID: last.sessionID,
    messageID,
    type: field === "reasoning" ? "reasoning" : "text",
    text: ""
  }
  return { ...last, type: "message.part.updated", properties: { part: { ...base, text } as Part } }
}

/** The growing parts of a tree. */
export class GrowingParts {
  readonly #parts = new Map<PartID, Growing>()
  /** Text parts as of their last event, until their session is idle. */
  readonly #told = new Map<PartID, Part>()

  /** Records an event. */
  see(event: Event): void {
    switch (event.type) {
      case "message.part.delta": {
        const { delta, partID } = event.properties
        const part = this.#told.get(partID)
        const text = (this.#parts.get(partID)?.text ?? textOf(part)) + delta
        this.#parts.set(partID, { last: event, part, text })
        break
      }
      case "message.part.updated": {
        const { part } = event.properties
        if (part.type !== "text" && part.type !== "reasoning") break
        this.#parts.delete(part.id)
        if (part.time?.end === undefined) this.#told.set(part.id, part)
        else this.#told.delete(part.id)
        break
      }
      case "session.idle":
      case "session.deleted":
        for (const [id, { sessionID }] of this.#told) if (sessionID === event.sessionID) this.#told.delete(id)
        for (const [id, { last }] of this.#parts) if (last.sessionID === event.sessionID) this.#parts.delete(id)
        break
    }
  }

  /** The current parts, as events that are not stored. */
  get now(): ReadonlyArray<Event<"message.part.updated">> {
    return Array.from(this.#parts.values(), grown)
  }
}

/** How many events may wait for an earlier one, which is still being read. */
const mostHeld = 10_000

/** The events of one tree. */
export interface TreeFeed {
  /** Finds where the feed begins. Run it before anything else. */
  readonly ready: Effect.Effect<void, StorageError>
  /** The `seq` up to which all events were sent to the live clients. */
  readonly position: () => number
  /** Sends a client everything from now on. Call it when the client has everything up to `position`. */
  readonly join: (client: EventClient) => void
  readonly leave: (client: EventClient) => void
  /** Sends what other processes have stored meanwhile. */
  readonly catchUp: Effect.Effect<void, StorageError>
}

class Deliveries {
  readonly audience = new Audience()
  readonly growing = new GrowingParts()
  /** Events that arrived before one with a smaller number. */
  readonly held = new Map<number, Event>()
  position: number | undefined

  /** Sends an event to all clients. */
  send(event: Event, id?: number): void {
    this.growing.see(event)
    if (this.audience.isEmpty) return
    const place = id === undefined ? undefined : String(id)
    this.audience.tell(frameOf(event, place), place)
  }

  /** Takes an event from the bus; returns whether an earlier one is missing. */
  take(event: Event): boolean {
    const { seq } = event
    if (seq === undefined) {
      if (this.position !== undefined) this.send(event)
      return false
    }
    if (this.position !== undefined && seq <= this.position) return false
    this.held.set(seq, event)
    this.release()
    if (this.held.size > mostHeld) {
      let last = 0
      for (const each of this.held.keys()) last = Math.max(last, each)
      this.held.delete(last)
    }
    return this.held.size > 0
  }

  /** Sends what follows without a gap. */
  release(): void {
    while (this.position !== undefined) {
      const next = this.held.get(this.position + 1)
      if (next === undefined) return
      this.deliver(this.position + 1, next)
    }
  }

  deliver(seq: number, event: Event): void {
    this.held.delete(seq)
    this.position = seq
    this.send(event, seq)
  }

  /** Tells all clients that the events up to here cannot be read. */
  lose(seq: number): void {
    this.held.delete(seq)
    this.position = seq
    const place = String(seq)
    this.audience.tell(resetFrame("unreadable", place), place)
  }

  /** Begins after this event. */
  begin(seq: number): void {
    this.position = seq
    this.skipTo(seq)
  }

  /** Everything up to here was sent, or is no longer stored. */
  skipTo(seq: number): void {
    if (this.position !== undefined && seq > this.position) this.position = seq
    for (const each of this.held.keys()) if (each <= (this.position ?? 0)) this.held.delete(each)
    this.release()
  }
}

/** Makes the feed of a tree, which ends with the scope. */
export const makeTreeFeed = (
  rootID: SessionID
): Effect.Effect<TreeFeed, never, Bus | Scope.Scope | Statuses> =>
  Effect.gen(function*() {
    const bus = yield* Bus
    const storage = yield* SessionStorage
    const deliveries = new Deliveries()
    const gap = yield* Effect.makeLatch(false)
    const turn = new FairSemaphore(1)

    const statuses = yield* Effect.context<Statuses>()
    const elsewhere = yield* makeElsewhere((event) => deliveries.send(event))

    yield* bus.listen({ rootID }, (event) => {
      if (deliveries.take(event)) gap.unsafeOpen()
    })

    const readRows = turn.withPermit(Effect.gen(function*() {
      for (;;) {
        const before = deliveries.position ?? 0
        const { last } = yield* storage.eventRange(rootID)
        const { isLast, rows } = yield* readStored(storage, { rootID, after: before })
        for (const { event, seq } of rows) {
          if (seq <= (deliveries.position ?? 0)) continue
          if (event === undefined) deliveries.lose(seq)
          else {
            deliveries.deliver(seq, { ...event, seq })
            elsewhere.see(event)
          }
        }
        if (isLast) return deliveries.skipTo(last)
      }
    }))

    // Commits of this process are published in the order of `seq`, so none of them can still fill a gap: what is missing
    // was stored by another process, and is in the log by now.
    const fill = Effect.gen(function*() {
      yield* gap.await
      gap.unsafeClose()
      if (deliveries.held.size > 0 && deliveries.position !== undefined) yield* readRows
    }).pipe(
      Effect.catchAll((error) =>
        // That the storage is away is logged once, and not for each tree.
        Effect.zipRight(
          isOutage(error) ? Effect.void : Effect.logWarning("Events could not be read", error.message),
          Effect.sleep(1_000)
        )
      ),
      Effect.forever
    )

    const look = Effect.provide(elsewhere.look([rootID]), statuses)
    const ready = turn.withPermit(Effect.suspend(() =>
      deliveries.position !== undefined
        ? Effect.void
        : Effect.zipRight(look, Effect.map(storage.eventRange(rootID), ({ last }) => deliveries.begin(last)))
    ))

    yield* Effect.forkScoped(fill)

    return {
      ready,
      position: () => deliveries.position ?? 0,
      join: (client) => {
        deliveries.audience.join(client)
        for (const event of deliveries.growing.now) client.send(frameOf(event))
      },
      leave: (client) => deliveries.audience.leave(client),
      catchUp: Effect.zipRight(readRows, look)
    }
  })
