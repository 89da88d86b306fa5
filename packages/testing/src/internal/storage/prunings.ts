/** Tests of pruning. */
import { expect } from "@effect/vitest"
import type { Event } from "@skein/domain/Event"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { commit, events, prune, type Tests } from "./access.ts"
import { event, ids, message, part, run, session, write } from "./rows.ts"

const at = (time: number, of: string, name: string, root?: string) =>
  write.event({ ...event(of, name, "session.idle", {}, root), timestamp: time } as Event)

const left = Effect.map(events({ after: 0 }), (found) => found.map((logged) => logged.event.id))

const updated = (time: number) => ({ time: { created: 1, updated: time } })

const call = (of: string, status: "running" | "error"): Part => ({
  ...part(of, of, of),
  type: "tool",
  callID: "call",
  tool: "bash",
  state: status === "running"
    ? { status, input: {}, time: { start: 1 } }
    : { status, input: {}, error: { tag: "Refused", message: "no" }, time: { start: 1, end: 2 } }
} as Part)

/** The tests. */
export const prunings: Tests = {
  "prunes events before a time, and never assigns their numbers again": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root", updated(20))),
      at(10, "root", "1"),
      at(11, "gone", "2"),
      at(12, "root", "3"),
      at(12, "root", "4")
    ]))
    const [, , third] = yield* use(events({ after: 0 }))
    expect(yield* use(prune({ before: 12, restingSince: 21, dryRun: true }))).toBe(2)
    expect(yield* use(left)).toEqual(["1", "2", "3", "4"].map(ids.evt))
    expect(yield* use(prune({ before: 12, restingSince: 21 }))).toBe(2)
    expect(yield* use(prune({ before: 12, restingSince: 21 }))).toBe(0)
    expect((yield* use(events({ after: 0 })))[0]).toEqual(third)
    expect(yield* use(prune({ before: 100, restingSince: 21 }))).toBe(2)
    expect(yield* use(left)).toEqual([])
    // A pruned id may be stored again; a position never repeats.
    yield* use(commit([at(30, "root", "1")]))
    expect((yield* use(events({ after: (third?.position ?? 0) + 1 }))).length).toBe(1)
  }),

  "keeps events after a recent one": Effect.fnUntraced(function*(use) {
    yield* use(commit([at(1, "a", "1"), at(50, "a", "2"), at(2, "a", "3")]))
    expect(yield* use(prune({ before: 10, restingSince: 100 }))).toBe(1)
    expect(yield* use(left)).toEqual([ids.evt("2"), ids.evt("3")])
  }),

  "prunes at most the requested number, oldest first": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 1_300 }, (_, index) => `${index}`)
    yield* use(commit(names.map((name) => at(1, "root", name))))
    expect(yield* use(prune({ before: 10, restingSince: 10, limit: 700, dryRun: true }))).toBe(700)
    expect(yield* use(prune({ before: 10, restingSince: 10, limit: 700 }))).toBe(700)
    expect(yield* use(left)).toEqual(names.slice(700).map(ids.evt))
    expect(yield* use(prune({ before: 10, restingSince: 10 }))).toBe(600)
  }),

  "keeps the events of active trees": Effect.fnUntraced(function*(use) {
    const trees = ["rested", "changed", "calls", "ran", "runs"]
    yield* use(commit([
      ...trees.map((name) => write.session(session(name, updated(5)))),
      write.session(session("below", { parent: "changed", ...updated(20) })),
      ...["calls", "rested"].map((name) => write.message(message(name, name))),
      write.part(call("calls", "running")),
      write.part(call("rested", "error")),
      write.run(run("a", "runs", { rootID: ids.ses("runs"), state: "queued" })),
      write.run(run("b", "ran", { rootID: ids.ses("ran"), state: "settled" })),
      ...trees.map((name) => at(1, name, name)),
      at(1, "below", "below", "changed")
    ]))
    expect(yield* use(prune({ before: 10, restingSince: 20 }))).toBe(2)
    expect(yield* use(left)).toEqual(["changed", "calls", "runs", "below"].map(ids.evt))
    expect(yield* use(prune({ before: 10, restingSince: 21 }))).toBe(2)
    expect(yield* use(left)).toEqual(["calls", "runs"].map(ids.evt))
  }),

  "limits the events of every tree, active ones too, oldest first": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 1_200 }, (_, index) => `${index}`)
    yield* use(commit([
      write.session(session("root", updated(50))),
      ...names.map((name) => at(50, "root", name)),
      at(50, "small", "s1"),
      at(50, "small", "s2")
    ]))
    const bound = { before: 10, restingSince: 10, mostPerTree: 100 }
    expect(yield* use(prune({ ...bound, dryRun: true }))).toBe(1_100)
    expect(yield* use(prune({ ...bound, limit: 40 }))).toBe(40)
    expect(yield* use(prune(bound))).toBe(1_060)
    expect(yield* use(left)).toEqual([...names.slice(1_100), "s1", "s2"].map(ids.evt))
    expect(yield* use(prune(bound))).toBe(0)
  })
}
