/** Tests of stored content: rows are read as they were written. */
import { expect } from "@effect/vitest"
import type { MessagePage, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { MessageID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  approvals,
  commit,
  commitEach,
  events,
  inbox,
  messagePage,
  messages,
  runOf,
  runs,
  sessionOf,
  sessions,
  type Tests,
  todos
} from "./access.ts"
import { ids, inboxRow, message, part, run, session, write } from "./rows.ts"

/** A row as a later version might write it. */
const withUnknown = <A>(row: A): A => ({ ...row, later: { than: ["this", "version"] } })

/** The tests. */
export const content: Tests = {
  "returns what was stored, and replaces it by a row with the same id": Effect.fnUntraced(function*(use) {
    const first = session("root", { title: "first", model: { providerID: "openai", modelID: "gpt" } })
    const summary = { text: "Renamed a.\nOpen: b.", files: ["src/a.ts"], until: ids.msg("a"), time: 5 }
    const second = session("root", { title: "second", summary })
    yield* use(commit([
      write.session(first),
      write.message(message("root", "a", "plan")),
      write.part(part("root", "a", "a", "one")),
      write.run(run("a", "root"))
    ]))
    expect(yield* use(sessionOf(ids.ses("root")))).toEqual(Option.some(first))
    yield* use(commitEach([write.session(second)], [
      write.message(message("root", "a", "build")),
      write.part(part("root", "a", "a", "two")),
      write.run(run("a", "root", { state: "settled" }))
    ]))
    expect(yield* use(sessionOf(ids.ses("root")))).toEqual(Option.some(second))
    expect(yield* use(messages(ids.ses("root")))).toEqual({
      rows: [{ info: message("root", "a", "build"), parts: [part("root", "a", "a", "two")] }],
      unreadable: []
    })
    expect(yield* use(runOf(ids.run("a")))).toEqual(Option.some(run("a", "root", { state: "settled" })))
  }),

  "returns what bounds each run, also where runs share it": Effect.fnUntraced(function*(use) {
    const strict = [
      { permission: "edit", pattern: "*", action: "deny" },
      { permission: "edit", pattern: "it's \u00e4 {\"b\": [1]}", action: "allow" }
    ] as const
    const other = [{ permission: "*", pattern: "*", action: "deny" }] as const
    const terms = { ceilings: [strict, other], rules: [strict], shared: [] }
    const bounded = [run("a", "root", { terms }), run("b", "root", { terms: { ...terms, ceilings: [] } })]
    const free = run("c", "root", { ceilings: [other] })
    yield* use(commit([write.session(session("root")), ...[...bounded, free].map(write.run)]))
    expect(yield* use(runs({}))).toEqual({ rows: [...bounded, free], unreadable: [] })
    const settled = { ...run("a", "root", { terms }), state: "settled" as const }
    yield* use(commitEach([write.run(settled)], [write.run(run("d", "root", { terms }))]))
    expect(yield* use(runOf(ids.run("a")))).toEqual(Option.some(settled))
    expect(yield* use(runOf(ids.run("d")))).toEqual(Option.some(run("d", "root", { terms })))
    expect(yield* use(runOf(ids.run("c")))).toEqual(Option.some(free))
  }),

  "reads the newest runs, and the newest before one": Effect.fnUntraced(function*(use) {
    const all = ["a", "b", "c", "d"].map((name) => {
      const tree = name === "b" ? "other" : "root"
      return run(name, tree, { rootID: ids.ses(tree) })
    })
    yield* use(commit([write.session(session("root")), write.session(session("other")), ...all.map(write.run)]))
    const [a, b, c, d] = all
    expect((yield* use(runs({ newest: { limit: 2 } }))).rows).toEqual([c, d])
    expect((yield* use(runs({ newest: { limit: 9 } }))).rows).toEqual(all)
    expect((yield* use(runs({ newest: { limit: 2, before: ids.run("c") } }))).rows).toEqual([a, b])
    const ofTree = { rootID: ids.ses("root"), newest: { limit: 2, before: ids.run("d") } }
    expect((yield* use(runs(ofTree))).rows).toEqual([a, c])
  }),

  "returns nothing if nothing was stored": Effect.fnUntraced(function*(use) {
    yield* use(commit([]))
    expect(yield* use(sessionOf(ids.ses("none")))).toEqual(Option.none())
    expect(yield* use(runOf(ids.run("none")))).toEqual(Option.none())
    expect(yield* use(messages(ids.ses("none")))).toEqual({ rows: [], unreadable: [] })
    expect(yield* use(sessions({}))).toEqual({ rows: [], unreadable: [] })
    expect(yield* use(runs({}))).toEqual({ rows: [], unreadable: [] })
    for (const read of [inbox(ids.ses("none")), events({ after: 0 }), approvals("none"), todos(ids.ses("none"))]) {
      expect(yield* use(read as Effect.Effect<ReadonlyArray<unknown>, StorageError, SessionStorage>)).toEqual([])
    }
  }),

  "keeps unknown fields": Effect.fnUntraced(function*(use) {
    const rows = {
      session: withUnknown(session("root")),
      message: withUnknown(message("root", "a")),
      part: withUnknown(part("root", "a", "a")),
      run: withUnknown(run("a", "root")),
      inbox: withUnknown(inboxRow("root", "b"))
    }
    const put = (each: typeof rows) =>
      commit([
        write.session(each.session),
        write.message(each.message),
        write.part(each.part),
        write.run(each.run),
        write.inbox(each.inbox)
      ])
    yield* use(put(rows))
    const read = use(Effect.all({
      session: Effect.map(sessionOf(ids.ses("root")), Option.getOrThrow),
      message: Effect.map(messages(ids.ses("root")), (found) => found.rows[0]?.info ?? rows.message),
      part: Effect.map(messages(ids.ses("root")), (found) => found.rows[0]?.parts[0] ?? rows.part),
      run: Effect.map(runOf(ids.run("a")), Option.getOrThrow),
      inbox: Effect.map(inbox(ids.ses("root")), (found) => found[0] ?? rows.inbox)
    }))
    expect(yield* read).toEqual(rows)
    yield* use(put(yield* read))
    expect(yield* read).toEqual(rows)
  }),

  "keeps every text unchanged": Effect.fnUntraced(function*(use) {
    const texts = ["", "\0", "\ud800 alone", "🧵 \u202e", "'); DROP TABLE part; --", "x".repeat(1_000_000)]
    const stored = texts.map((text, index) => part("root", "a", `t${index}`, text))
    yield* use(commit([write.session(session("root")), write.message(message("root", "a")), ...stored.map(write.part)]))
    expect((yield* use(messages(ids.ses("root")))).rows[0]?.parts).toEqual(stored)
  }),

  "returns a long session completely": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 1_100 }, (_, index) => `${index}`).toSorted()
    yield* use(commit([
      write.session(session("root")),
      ...names.flatMap((name) => [write.message(message("root", name)), write.part(part("root", name, name))])
    ]))
    expect((yield* use(messages(ids.ses("root")))).rows).toEqual(
      names.map((name) => ({ info: message("root", name), parts: [part("root", name, name)] }))
    )
  }),

  "reads the newest messages, and the newest before one": Effect.fnUntraced(function*(use) {
    const names = ["a", "b", "c", "d"]
    yield* use(commit([
      write.session(session("root")),
      ...names.map((name) => write.message(message("root", name))),
      // Parts need not be in the order of their messages.
      ...names.map((name, at) => write.part(part("root", name, String(names.length - at))))
    ]))
    const whole = (yield* use(messages(ids.ses("root")))).rows
    const newest = (limit: number, before?: string, bytes = 1_000_000) =>
      Effect.map(
        use(messagePage(ids.ses("root"), {
          limit,
          bytes,
          ...(before === undefined ? {} : { before: ids.msg(before) })
        })),
        ({ next, rows }) => [next, rows]
      )
    expect(yield* newest(2)).toEqual([ids.msg("c"), whole.slice(2)])
    expect(yield* newest(9)).toEqual([undefined, whole])
    expect(yield* newest(2, "d")).toEqual([ids.msg("b"), whole.slice(1, 3)])
    expect(yield* newest(2, "c")).toEqual([undefined, whole.slice(0, 2)])
    expect(yield* newest(2, "a")).toEqual([undefined, []])
    // One that is larger than a page is a page.
    expect(yield* newest(9, "d", 1)).toEqual([ids.msg("c"), whole.slice(2, 3)])
  }),

  "reads messages in pages, bounded by their number and their bytes": Effect.fnUntraced(function*(use) {
    const names = ["a", "b", "c", "d"]
    yield* use(commit([
      write.session(session("root")),
      ...names.map((name) => write.message(message("root", name))),
      ...names.map((name, at) => write.part(part("root", name, String(names.length - at))))
    ]))
    const whole = (yield* use(messages(ids.ses("root")))).rows
    const pages = Effect.fnUntraced(function*(limit: number, bytes: number) {
      const found: Array<number> = []
      const rows: Array<MessageWithParts> = []
      let after: MessageID | "" | undefined = ""
      while (after !== undefined) {
        const page: MessagePage = yield* use(messagePage(ids.ses("root"), { after, limit, bytes }))
        found.push(page.rows.length)
        rows.push(...page.rows)
        after = page.next
      }
      expect(rows).toEqual(whole)
      return found
    })
    expect(yield* pages(9, 1_000_000)).toEqual([4])
    expect(yield* pages(4, 1_000_000)).toEqual([4])
    expect(yield* pages(3, 1_000_000)).toEqual([3, 1])
    // One that is larger than a page is a page.
    expect(yield* pages(9, 1)).toEqual([1, 1, 1, 1])
    expect(yield* use(messagePage(ids.ses("none"), { after: "", limit: 1, bytes: 1 }))).toEqual({
      rows: [],
      unreadable: []
    })
  }),

  "orders messages and parts by id, and drops removed parts": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.part(part("root", "a", "3")),
      write.message(message("root", "b")),
      write.message(message("root", "a")),
      write.part(part("root", "b", "2")),
      write.part(part("root", "a", "1")),
      write.part(part("root", "a", "4")),
      write.session(session("root"))
    ]))
    yield* use(commit([{ _tag: "RemovePart", id: ids.prt("3"), sessionID: ids.ses("root") }]))
    yield* use(commit([
      { _tag: "RemovePart", id: ids.prt("4"), sessionID: ids.ses("root") },
      write.part(part("root", "a", "4", "again")),
      { _tag: "RemovePart", id: ids.prt("9"), sessionID: ids.ses("root") }
    ]))
    expect((yield* use(messages(ids.ses("root")))).rows).toEqual([
      { info: message("root", "a"), parts: [part("root", "a", "1"), part("root", "a", "4", "again")] },
      { info: message("root", "b"), parts: [part("root", "b", "2")] }
    ])
  })
}
