/** Proves that no client takes its events for complete if one of them cannot be read. */
import { describe, expect, it } from "@effect/vitest"
import type * as EventStream from "@skein/client/EventStream"
import { Leases } from "@skein/core/Leases"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import { EventID, type SessionID } from "@skein/domain/Id"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { follow } from "./support/events.ts"
import { serving } from "./support/server.ts"

/** Storage that cannot read events of a kind which only another process stores. */
const storage = Layer.map(SessionStorage.layerMemory, (context) => {
  const inner = Context.get(context, SessionStorage)
  return Context.make(SessionStorage, {
    ...inner,
    events: ({ onUnreadable, ...filter }) =>
      Effect.map(inner.events(filter), (found) =>
        found.filter(({ event: { id, type }, position, seq }) => {
          if (type !== "session.idle") return true
          onUnreadable?.({ id, reason: "damaged", position, seq })
          return false
        }))
  })
})

const provide = Effect.provide(serving({ "*": ["ok"] }, { storage }))

const damaged = (rootID: SessionID, name: string) =>
  Effect.flatMap(Effect.all([SessionStorage, Leases]), ([{ commit }, { hold }]) =>
    hold(
      rootID,
      commit([{
        _tag: "Event",
        event: {
          id: EventID.make(`evt_${name}`),
          type: "session.idle",
          timestamp: 1,
          sessionID: rootID,
          rootID,
          depth: 0,
          properties: {}
        } satisfies Event
      }])
    ))

const rename = (id: SessionID, title: string) => Effect.flatMap(Session, (session) => session.rename(id, title))

/** What a client gets up to the event with this title: numbers of events, and reasons of resets. */
const untilTitle = (streamed: Stream.Stream<EventStream.Streamed>, title: string) =>
  streamed.pipe(
    Stream.takeUntil((each) =>
      each._tag === "Event" && each.event.type === "session.updated" && each.event.properties.info.title === title
      && each.id !== undefined
    ),
    Stream.map((each) => each._tag === "Reset" ? `${each.reason} up to ${each.id}` : each.event.seq),
    Stream.runCollect,
    // What has no number is not stored.
    Effect.map((found) => Chunk.toReadonlyArray(found).filter((each) => each !== undefined))
  )

describe("events that cannot be read", () => {
  it.live("are told in their place: where they are replayed, and where they come live", () =>
    Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: process.cwd() })
      yield* damaged(id, "a")
      yield* damaged(id, "b")
      yield* rename(id, "four")
      const { all } = yield* follow(id, "0")
      const got = yield* Effect.fork(untilTitle(all, "six"))
      const live = yield* follow(id)
      yield* damaged(id, "c")
      yield* rename(id, "six")
      expect(yield* Fiber.join(got)).toEqual([1, "unreadable up to 3", 4, "unreadable up to 5", 6])
      expect(yield* untilTitle(live.all, "six")).toEqual(["unreadable up to 5", 6])
    }).pipe(Effect.scoped, provide))

  it.live("are told to those who watch all trees", () =>
    Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: process.cwd() })
      const { all } = yield* follow()
      yield* damaged(id, "a")
      yield* rename(id, "three")
      const [lost, seq] = yield* untilTitle(all, "three")
      expect([String(lost).replace(/ up to .+/, ""), seq]).toEqual(["unreadable", 3])
    }).pipe(Effect.scoped, provide))
})
