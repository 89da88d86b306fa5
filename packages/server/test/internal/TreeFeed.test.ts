/** Proves that every listener gets every event once and in order, however commits, foreign commits and replays interleave. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import { EventID, type SessionID } from "@skein/domain/Id"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { ServerResponse } from "node:http"
import { Feeds } from "../../src/internal/events/Feeds.ts"
import { byLog, byTree, follow } from "../../src/internal/events/follow.ts"

/** A connection that takes everything, and tells when an event came. */
const makeListener = () => {
  const seqs: Array<number> = []
  let last = 0
  const arrived = Effect.unsafeMakeLatch(false)
  const take = (frame: Buffer) => {
    for (const [, data = ""] of frame.toString("utf8").matchAll(/^data: (.*)$/gm)) {
      const { seq } = JSON.parse(data) as { readonly seq?: number }
      if (seq === undefined) continue
      seqs.push(seq)
      if (seq === last) arrived.unsafeOpen()
    }
    return true
  }
  const response = {
    destroyed: false,
    writableLength: 0,
    writableNeedDrain: false,
    removeHeader: () => undefined,
    writeHead: () => response,
    write: take,
    end: () => undefined
  } as unknown as ServerResponse
  /** Waits for an event, as long as anything still happens. */
  const until = (seq: number) => {
    last = seq
    return seqs.includes(seq) ? Effect.void : Effect.raceFirst(arrived.await, Effect.repeatN(Effect.yieldNow(), 5_000))
  }
  return { response, seqs, until }
}

/** Storage whose answers come some moments later, and not always in the order in which they were asked for. */
const slow = (delays: ReadonlyArray<number>) =>
  Layer.map(SessionStorage.layerMemory, (context) => {
    const inner = Context.get(context, SessionStorage)
    let asked = 0
    const later = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
      const moments = delays[asked++ % delays.length] ?? 0
      const pause = Effect.repeatN(Effect.yieldNow(), moments)
      return Effect.zipLeft(Effect.zipRight(pause, effect), pause)
    }
    return Context.make(SessionStorage, {
      ...inner,
      commit: (writes, onStored) => later(inner.commit(writes, onStored)),
      events: (filter) => later(inner.events(filter)),
      eventRange: (rootID) => later(inner.eventRange(rootID))
    })
  })

const moments = FastCheck.nat({ max: 6 })

const action = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.record({ kind: FastCheck.constant("own" as const), moments }) },
  { weight: 2, arbitrary: FastCheck.record({ kind: FastCheck.constant("foreign" as const), moments }) },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("listen" as const),
      moments,
      from: FastCheck.option(FastCheck.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
      all: FastCheck.boolean()
    })
  }
)

const foreign = (rootID: SessionID, index: number) =>
  ({
    id: EventID.make(`evt_foreign${index}`),
    type: "session.idle",
    timestamp: 1,
    sessionID: rootID,
    rootID,
    depth: 0,
    properties: {}
  }) as Event

interface Case {
  readonly actions: ReadonlyArray<typeof action extends FastCheck.Arbitrary<infer A> ? A : never>
  readonly delays: ReadonlyArray<number>
}

const run = ({ actions, delays }: Case) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const session = yield* Session
    const feeds = yield* Feeds
    const { id } = yield* session.create({ directory: "/work" })
    const lastSeq = Effect.map(storage.eventRange(id), ({ last }) => last)
    const commits: Array<Fiber.Fiber<unknown, unknown>> = []
    const listeners: Array<ReturnType<typeof makeListener> & { readonly from: number | undefined }> = []
    for (const [index, each] of actions.entries()) {
      yield* Effect.repeatN(Effect.yieldNow(), each.moments)
      if (each.kind === "own") {
        commits.push(yield* Effect.fork(session.rename(id, `title ${index}`)))
      } else if (each.kind === "foreign") {
        commits.push(yield* Effect.fork(storage.commit([{ _tag: "Event", event: foreign(id, index) }])))
      } else {
        const from = each.all || each.from === undefined ? undefined : Math.floor(each.from * (yield* lastSeq))
        const listener = makeListener()
        listeners.push({ ...listener, from })
        const feed = yield* (each.all ? feeds.ofAll : feeds.ofTree(id))
        yield* Effect.forkScoped(
          follow(listener.response, feed, each.all ? byLog : byTree(id), {
            from: from === undefined ? undefined : String(from),
            lastEventID: undefined
          })
        )
      }
    }
    yield* Effect.forEach(commits, Fiber.join, { discard: true })
    // A listener that has just connected gets at least what comes from now on.
    yield* Effect.repeatN(Effect.yieldNow(), 200)
    yield* session.rename(id, "the last")
    const last = yield* lastSeq
    for (const { from, seqs, until } of listeners) {
      yield* until(last)
      const first = from === undefined ? seqs[0] ?? 0 : from + 1
      expect(seqs).toEqual(Array.from({ length: last - first + 1 }, (_, at) => first + at))
    }
  }).pipe(
    Effect.scoped,
    Effect.provide(Feeds.layer.pipe(Layer.provideMerge(SkeinTest.layer({ "*": ["ok"] }, { storage: slow(delays) }))))
  )

describe("a feed", () => {
  it.effect("fills a gap that another process left as soon as it sees it, without waiting", () =>
    run({
      delays: [0],
      actions: [
        { kind: "listen", moments: 0, from: undefined, all: false },
        { kind: "own", moments: 6 },
        { kind: "foreign", moments: 6 },
        { kind: "own", moments: 6 }
      ]
    }))

  it.effect.prop(
    "gives every listener each event once and in order, wherever its replay meets what is live",
    {
      actions: FastCheck.array(action, { minLength: 5, maxLength: 40 }),
      delays: FastCheck.array(FastCheck.nat({ max: 9 }), { minLength: 1, maxLength: 7 })
    },
    run,
    { fastCheck: { numRuns: 20 } }
  )
})

it.effect("a stream whose request was refused meanwhile, because the server leaves, writes nothing", () => {
  const { response } = makeListener()
  const refused = Object.assign(response, {
    headersSent: true,
    removeHeader: () => {
      throw new Error("Cannot remove headers after they are sent to the client")
    }
  })
  return Effect.gen(function*() {
    const { ofAll } = yield* Feeds
    const leave = yield* follow(refused, yield* ofAll, byLog, { from: undefined, lastEventID: undefined })
    leave()
  }).pipe(Effect.scoped, Effect.provide(Feeds.layer), Effect.provide(SkeinTest.layer({ "*": ["ok"] })))
})
