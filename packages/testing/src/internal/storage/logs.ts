/** Tests of the event log. */
import { expect } from "@effect/vitest"
import type { Places } from "@skein/core/StorageFilter"
import * as Effect from "effect/Effect"
import { commit, commitEach, events, type Tests } from "./access.ts"
import { event, ids, message, part, session, write } from "./rows.ts"

const idle = (of: string, name: string, root?: string) => write.event(event(of, name, "session.idle", {}, root))
const idsOf = (filter: Parameters<typeof events>[0]) =>
  Effect.map(events(filter), (found) => found.map((logged) => logged.event.id))

/** The tests. */
export const logs: Tests = {
  "returns events after a position, of one tree, up to the limit": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [idle("root", "1"), idle("child", "2", "root")],
      [idle("other", "3")],
      [idle("root", "4")]
    ))
    const log = yield* use(events({ after: 0 }))
    expect(log.map((logged) => logged.event)).toEqual([
      event("root", "1", "session.idle", {}),
      event("child", "2", "session.idle", {}, "root"),
      event("other", "3", "session.idle", {}),
      event("root", "4", "session.idle", {})
    ])
    const [first, second, , last] = log.map((logged) => logged.position)
    expect(first).toBeGreaterThan(0)
    expect(yield* use(idsOf({ after: second ?? 0 }))).toEqual([ids.evt("3"), ids.evt("4")])
    expect(yield* use(idsOf({ after: 0, limit: 2 }))).toEqual([ids.evt("1"), ids.evt("2")])
    expect(yield* use(idsOf({ after: 0, rootID: ids.ses("root") }))).toEqual(["1", "2", "4"].map(ids.evt))
    expect(yield* use(idsOf({ after: 1, rootID: ids.ses("root"), limit: 1 }))).toEqual([ids.evt("2")])
    expect(yield* use(idsOf({ after: last ?? 0 }))).toEqual([])
  }),

  "returns the position of each event of a commit": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 70 }, (_, index) => `${index}`)
    const groups = [["a"], ["b", "c"], [], ["d"]].map((each) => each.map((name) => idle("root", name)))
    const together = yield* use(Effect.forEach(groups, commit, { concurrency: "unbounded" }))
    const many = yield* use(commit(names.map((name) => idle("root", name))))
    const again = yield* use(commit([idle("root", "a"), idle("root", "e")]))
    const log = yield* use(events({ after: 0 }))
    const placeOf = new Map(log.map(({ event: { id }, seq }) => [id, seq]))
    const expectPlaces = (places: Places | undefined, given: ReadonlyArray<string>) => {
      for (const name of given) expect(places?.get(ids.evt(name))).toBe(placeOf.get(ids.evt(name)))
    }
    for (const [index, given] of [["a"], ["b", "c"], [], ["d"]].entries()) expectPlaces(together[index], given)
    expectPlaces(many, names)
    expectPlaces(again, ["e"])
    expect(again.get(ids.evt("a"))).toBeUndefined()
    expect(placeOf.size).toBe(names.length + 5)
  }),

  "returns a long log completely": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 1_201 }, (_, index) => `${index}`)
    yield* use(commit(names.map((name) => idle("root", name))))
    expect(yield* use(idsOf({ after: 0 }))).toEqual(names.map(ids.evt))
    expect(yield* use(idsOf({ after: 0, limit: 700 }))).toEqual(names.slice(0, 700).map(ids.evt))
  }),

  "keeps the first of two events with one id": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([idle("root", "1"), idle("other", "1")], [idle("other", "1"), idle("other", "2")]))
    expect((yield* use(events({ after: 0 }))).map((logged) => logged.event)).toEqual([
      event("root", "1", "session.idle", {}),
      event("other", "2", "session.idle", {})
    ])
  }),

  "does not store ephemeral events": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.event(event("root", "1", "session.status", { status: { type: "idle" } })),
      write.event(
        event("root", "2", "message.part.delta", {
          messageID: ids.msg("a"),
          partID: ids.prt("a"),
          field: "text",
          delta: "x"
        })
      ),
      idle("root", "3")
    ]))
    expect(yield* use(idsOf({ after: 0 }))).toEqual([ids.evt("3")])
  }),

  "shows an updated row in its current state, and leaves out deleted ones": Effect.fnUntraced(function*(use) {
    const info = session("root", { title: "old" })
    yield* use(commit([
      write.session(info),
      write.message(message("root", "a", "plan")),
      write.part(part("root", "a", "a", "old")),
      write.part(part("root", "a", "b")),
      write.event(event("root", "1", "session.updated", { info })),
      write.event(event("root", "2", "message.updated", { info: message("root", "a", "plan") })),
      write.event(event("root", "3", "message.part.updated", { part: part("root", "a", "a", "old") })),
      write.event(event("root", "4", "message.part.updated", { part: part("root", "a", "b") })),
      write.event(event("root", "5", "session.idle", {}))
    ]))
    yield* use(commit([
      write.session(session("root", { title: "new" })),
      write.message(message("root", "a", "build")),
      write.part(part("root", "a", "a", "new")),
      { _tag: "RemovePart", id: ids.prt("b"), sessionID: ids.ses("root") }
    ]))
    expect((yield* use(events({ after: 0 }))).map((logged) => logged.event)).toEqual([
      event("root", "1", "session.updated", { info: session("root", { title: "new" }) }),
      event("root", "2", "message.updated", { info: message("root", "a", "build") }),
      event("root", "3", "message.part.updated", { part: part("root", "a", "a", "new") }),
      event("root", "5", "session.idle", {})
    ])
    expect(yield* use(idsOf({ after: 0, limit: 4 }))).toEqual(["1", "2", "3", "5"].map(ids.evt))
  })
}
