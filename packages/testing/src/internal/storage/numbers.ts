/** Tests of event numbers: each tree counts its own, without a gap. */
import { expect } from "@effect/vitest"
import type { Event } from "@skein/domain/Event"
import * as Effect from "effect/Effect"
import { commit, commitEach, events, prune, reasonOf, type Tests } from "./access.ts"
import { event, ids, message, run, session, write } from "./rows.ts"

const idle = (of: string, name: string, root?: string) => write.event(event(of, name, "session.idle", {}, root))

const old = (of: string, name: string) => write.event({ ...event(of, name, "session.idle", {}), timestamp: 0 } as Event)

/** The events of a tree after a number, with their numbers. */
const numbered = (root: string, after = 0, limit?: number) =>
  Effect.map(
    events({ rootID: ids.ses(root), after, ...(limit === undefined ? {} : { limit }) }),
    (found) => found.map((logged) => [logged.seq, logged.event.id] as const)
  )

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/** The tests. */
export const numbers: Tests = {
  "numbers the events of each tree from 1, in the order of their commits": Effect.fnUntraced(function*(use) {
    const places = yield* use(Effect.forEach([
      [idle("a", "1"), idle("ax", "2", "a")],
      [idle("b", "3")],
      [idle("a", "4"), idle("b", "5"), idle("ax", "6", "a")],
      [idle("b", "7")]
    ], commit))
    expect(yield* use(numbered("a"))).toEqual([[1, "evt_1"], [2, "evt_2"], [3, "evt_4"], [4, "evt_6"]])
    expect(yield* use(numbered("b"))).toEqual([[1, "evt_3"], [2, "evt_5"], [3, "evt_7"]])
    expect(places.map((each) => [...each])).toEqual([
      [["evt_1", 1], ["evt_2", 2]],
      [["evt_3", 1]],
      [["evt_4", 3], ["evt_5", 2], ["evt_6", 4]],
      [["evt_7", 3]]
    ])
  }),

  "returns the events of a tree after one of its numbers": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([idle("a", "1"), idle("b", "2"), idle("b", "3")], [idle("a", "4"), idle("b", "5")]))
    expect(yield* use(numbered("b", 1))).toEqual([[2, "evt_3"], [3, "evt_5"]])
    expect(yield* use(numbered("b", 1, 1))).toEqual([[2, "evt_3"]])
    expect(yield* use(numbered("a", 1))).toEqual([[2, "evt_4"]])
    expect(yield* use(numbered("a", 2))).toEqual([])
    expect(yield* use(numbered("stranger"))).toEqual([])
  }),

  "leaves no gap when many trees commit concurrently": Effect.fnUntraced(function*(use) {
    const trees = upTo(40).map((tree) => `t${tree}`)
    yield* use(
      Effect.forEach(trees, (tree) =>
        Effect.forEach(upTo(5), (step) =>
          commit(
            upTo(step).map((index) => idle(tree, `${tree}x${step}x${index}`))
          )), {
        concurrency: "unbounded",
        discard: true
      })
    )
    for (const tree of trees) expect((yield* use(numbered(tree))).map(([seq]) => seq)).toEqual(upTo(15))
  }),

  "leaves no gap for an event that was already stored": Effect.fnUntraced(function*(use) {
    yield* use(commit([idle("a", "1"), idle("b", "2")]))
    const names = upTo(70).map((name) => `n${name}`)
    const places = yield* use(
      commit([idle("a", "1"), ...names.slice(0, 40).map((name) => idle("a", name)), idle("b", "1"), idle("a", "2")])
    )
    expect([...places].map(([, seq]) => seq)).toEqual(upTo(41).slice(1))
    yield* use(commit(names.map((name) => idle("a", name))))
    yield* use(commit([idle("b", "1"), idle("b", "3")]))
    expect(yield* use(numbered("a"))).toEqual(["1", ...names].map((name, index) => [index + 1, ids.evt(name)]))
    expect(yield* use(numbered("b"))).toEqual([[1, "evt_2"], [2, "evt_3"]])
  }),

  "leaves no gap for a refused commit": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("a"))]))
    const bad = (name: string) => commit([idle("a", name), write.message(message("stranger", name))])
    expect(yield* use(reasonOf(bad("1")))).toBe("constraint")
    const together = [commit([idle("a", "2")]), bad("3"), commit([idle("a", "4")])]
    yield* use(Effect.forEach(together, Effect.either, { concurrency: "unbounded" }))
    expect(yield* use(numbered("a"))).toEqual([[1, "evt_2"], [2, "evt_4"]])
  }),

  "continues from the last number after events were pruned": Effect.fnUntraced(function*(use) {
    // An idle tree loses all its events, and an active one is limited.
    yield* use(commit([
      ...["rests", "works"].map((name) => write.session(session(name))),
      write.run(run("a", "works", { rootID: ids.ses("works") })),
      ...upTo(3).flatMap((name) => [old("rests", `r${name}`), old("works", `w${name}`)])
    ]))
    expect(yield* use(prune({ before: 1, restingSince: 2, mostPerTree: 1 }))).toBe(5)
    expect(yield* use(numbered("works"))).toEqual([[3, "evt_w3"]])
    yield* use(commit([idle("rests", "r4"), idle("works", "w4")]))
    expect(yield* use(numbered("rests"))).toEqual([[4, "evt_r4"]])
    expect(yield* use(numbered("works"))).toEqual([[3, "evt_w3"], [4, "evt_w4"]])
  }),

  "continues from the last number after a session or its whole tree was deleted": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("a")),
      write.session(session("ax", { parent: "a" })),
      idle("a", "1"),
      idle("ax", "2", "a"),
      idle("ax", "3", "a")
    ]))
    yield* use(commit([write.delete("ax"), idle("ax", "4", "a")]))
    expect(yield* use(numbered("a"))).toEqual([[1, "evt_1"], [4, "evt_4"]])
    yield* use(commit([idle("a", "5"), write.delete("a"), idle("a", "6")]))
    // A number is never assigned again, even if its event can no longer be read.
    expect((yield* use(numbered("a"))).at(-1)).toEqual([6, "evt_6"])
  })
}
