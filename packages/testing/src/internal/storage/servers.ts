/** Tests of the reads for servers: the range of the log, unfinished trees, and receipts. */
import { expect } from "@effect/vitest"
import type { Write } from "@skein/core/SessionStorage"
import { type Receipt, receiptLifetime } from "@skein/core/Write"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import {
  commit,
  commitEach,
  eventRange,
  prune,
  reasonOf,
  receiptOf,
  runs,
  sessions,
  type Tests,
  unfinished
} from "./access.ts"
import { event, ids, inboxRow, run, session, write } from "./rows.ts"

const idle = (of: string, name: string, timestamp = 1) =>
  write.event({ ...event(of, name, "session.idle", {}), timestamp } as ReturnType<typeof event>)

const receipt = (key: string, of: string, created = 1): Receipt => ({
  key,
  digest: `of ${key}`,
  sessionID: ids.ses(of),
  result: ids.msg(key),
  created
})

const store = (row: Receipt): Write => ({ _tag: "Receipt", receipt: row })

/** A session whose last turn is the given one, and that was stopped so often. */
const inTurn = (name: string, ended?: "stopped" | "completed", stops = 0) =>
  write.session(session(name, {
    turn: { began: 1, ...(ended === undefined ? {} : { ended: { at: 2, how: ended } }) },
    ...(stops === 0 ? {} : { stops })
  }))

/** A prompt for after the turn, sent after that many stops. */
const queuedAfter = (of: string, name: string, stops?: number) => ({
  ...inboxRow(of, name),
  after: "turn" as const,
  ...(stops === undefined ? {} : { stops })
})

/** A message to a task, sent after that many stops of those above. */
const messageAfter = (of: string, name: string, stops: number) => ({
  ...inboxRow(of, name),
  kind: "steer" as const,
  stops
})

/** The tests. */
export const servers: Tests = {
  "returns the range of a tree's log": Effect.fnUntraced(function*(use) {
    expect(yield* use(eventRange(ids.ses("a")))).toEqual({ first: 1, last: 0 })
    yield* use(commitEach(
      [write.session(session("a")), idle("a", "1"), idle("b", "2")],
      [idle("a", "3", 9), idle("a", "4", 9)]
    ))
    expect(yield* use(eventRange(ids.ses("a")))).toEqual({ first: 1, last: 3 })
    expect(yield* use(eventRange(ids.ses("b")))).toEqual({ first: 1, last: 1 })
    yield* use(prune({ before: 5, restingSince: 5 }))
    expect(yield* use(eventRange(ids.ses("a")))).toEqual({ first: 2, last: 3 })
    yield* use(prune({ before: 10, restingSince: 10 }))
    expect(yield* use(eventRange(ids.ses("a")))).toEqual({ first: 4, last: 3 })
  }),

  "returns the range of the whole log": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([idle("a", "1"), idle("b", "2")], [idle("a", "3")]))
    const { first, last } = yield* use(eventRange())
    expect(last - first).toBe(2)
  }),

  "finds the trees with unfinished work": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      inTurn("open"),
      write.session(session("left", { turn: { began: 1, leftAlone: true } })),
      inTurn("ended", "completed"),
      inTurn("stopping", undefined, 1),
      write.session(session("said", { title: "\"turn\":{ and \"ended\":{" })),
      write.session(session("prompted")),
      write.inbox(inboxRow("prompted", "1")),
      write.session(session("taken")),
      write.inbox(inboxRow("taken", "2")),
      write.taken("taken", "2"),
      write.session(session("noted")),
      write.inbox({ ...inboxRow("noted", "3"), kind: "note" }),
      write.session(session("queued")),
      write.inbox(queuedAfter("queued", "6", 0)),
      inTurn("between", "completed"),
      write.inbox(queuedAfter("between", "7")),
      inTurn("kept", "stopped", 1),
      write.inbox(queuedAfter("kept", "8")),
      write.session(session("counted", { stops: 2 })),
      write.inbox(queuedAfter("counted", "9", 1)),
      write.inbox({ ...inboxRow("counted", "10"), stops: 0 }),
      write.session(session("later", { stops: 2 })),
      write.inbox(queuedAfter("later", "11", 2)),
      write.session(session("above", { stops: 1 })),
      write.session(session("below", { parent: "above", stops: 1 })),
      write.inbox(messageAfter("below", "12", 0)),
      write.session(session("since", { stops: 1 })),
      write.session(session("told", { parent: "since", stops: 1 })),
      write.inbox(messageAfter("told", "13", 1)),
      inTurn("stopped", "stopped", 1),
      write.inbox(inboxRow("stopped", "4", "told")),
      inTurn("news", "completed"),
      write.inbox(inboxRow("news", "5", "other")),
      write.session(session("root")),
      write.session(session("child", { parent: "root" })),
      write.run(run("1", "child", { state: "queued" }))
    ]))
    expect((yield* use(unfinished)).toSorted()).toEqual(
      ["between", "later", "news", "open", "prompted", "queued", "root", "since", "stopping"].map(ids.ses)
    )
  }),

  "counts shelved sessions and runs as finished, until a session is stored again": Effect.fnUntraced(function*(use) {
    const shelve = (of: "session" | "run", name: string): Write => ({
      _tag: "Shelve",
      of,
      id: of === "session" ? ids.ses(name) : ids.run(name),
      rootID: ids.ses("root"),
      at: 3
    })
    yield* use(commitEach(
      [inTurn("root"), write.session(session("child", { parent: "root" })), write.run(run("1", "child"))],
      [shelve("session", "root")]
    ))
    expect(yield* use(unfinished)).toEqual([ids.ses("root")])
    yield* use(commit([shelve("run", "1"), shelve("run", "none")]))
    expect(yield* use(unfinished)).toEqual([])
    expect((yield* use(runs({ unsettled: true }))).rows).toEqual([])
    yield* use(commit([write.run(run("1", "child"))]))
    expect(yield* use(unfinished)).toEqual([])
    yield* use(commit([inTurn("root")]))
    expect(yield* use(unfinished)).toEqual([ids.ses("root")])
  }),

  "keeps receipts for a day, and none of a deleted session": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [write.session(session("a")), write.session(session("b"))],
      [store(receipt("one", "a")), store(receipt("two", "b"))]
    ))
    expect(yield* use(receiptOf("one"))).toEqual(Option.some(receipt("one", "a")))
    expect(yield* use(receiptOf("none"))).toEqual(Option.none())
    // Nothing else of a commit with a second receipt is stored, whether it is alone or shares a transaction.
    const second = [write.session(session("c")), store({ ...receipt("one", "a"), digest: "another" })]
    expect(yield* use(reasonOf(commit(second)))).toBe("constraint")
    expect(yield* use(reasonOf(commitEach(second, [store(receipt("one", "b"))])))).toBe("constraint")
    expect(yield* use(receiptOf("one"))).toEqual(Option.some(receipt("one", "a")))
    const { rows } = yield* use(sessions({}))
    expect(rows.map(({ id }) => id)).not.toContain(ids.ses("c"))
    // The same request may extend its result, also in one commit.
    const more = (row: Receipt) => ({ ...row, result: `${row.result} run` })
    const both = receipt("both", "b")
    yield* use(commit([store(more(receipt("one", "a"))), store(both), store(more(both))]))
    expect(yield* use(receiptOf("one"))).toEqual(Option.some(more(receipt("one", "a"))))
    expect(yield* use(receiptOf("both"))).toEqual(Option.some(more(both)))
    expect(yield* use(reasonOf(commit([store(more(more(receipt("one", "b"))))])))).toBe("constraint")
    yield* use(commit([write.delete("b")]))
    expect(yield* use(receiptOf("two"))).toEqual(Option.none())
    yield* TestClock.setTime(receiptLifetime + 1)
    expect(yield* use(receiptOf("one"))).toEqual(Option.none())
    yield* use(commit([store(receipt("three", "a", receiptLifetime + 1))]))
    yield* TestClock.setTime(0)
    expect(yield* use(receiptOf("one"))).toEqual(Option.none())
    expect(yield* use(receiptOf("three"))).toEqual(Option.some(receipt("three", "a", receiptLifetime + 1)))
    expect(yield* use(reasonOf(commit([store(receipt("four", "nobody"))])))).toBe("constraint")
  }),

  "lists the sessions after a given one": Effect.fnUntraced(function*(use) {
    const at = (updated: number) => ({ time: { created: 1, updated } })
    yield* use(commit([
      write.session(session("a", at(2))),
      write.session(session("b", at(2))),
      write.session(session("c", at(1))),
      write.session(session("d", at(3)))
    ]))
    const namesAfter = (name: string, updated: number, limit?: number) =>
      Effect.map(
        sessions({ after: { id: ids.ses(name), updated }, ...(limit === undefined ? {} : { limit }) }),
        ({ rows }) => rows.map(({ title }) => title)
      )
    expect(yield* use(namesAfter("d", 3))).toEqual(["b", "a", "c"])
    expect(yield* use(namesAfter("b", 2))).toEqual(["a", "c"])
    expect(yield* use(namesAfter("b", 2, 1))).toEqual(["a"])
    expect(yield* use(namesAfter("c", 1))).toEqual([])
  })
}
