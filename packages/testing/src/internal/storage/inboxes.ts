/** Tests of the inbox: what waits is told once, in order, and never again. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { commit, commitEach, inbox, messages, reasonOf, type Tests } from "./access.ts"
import { ids, inboxRow, message, session, write } from "./rows.ts"

/** The tests. */
export const inboxes: Tests = {
  "gives what waits for a session, oldest first, until it is taken": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.session(session("other")),
      write.inbox(inboxRow("root", "b")),
      write.inbox(inboxRow("root", "a")),
      write.inbox(inboxRow("other", "c")),
      write.inbox(inboxRow("root", "d", "run"))
    ]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([
      inboxRow("root", "a"),
      inboxRow("root", "b"),
      inboxRow("root", "d", "run")
    ])
    yield* use(commit([write.message(message("root", "b")), write.taken("root", "b")]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a"), inboxRow("root", "d", "run")])
    expect(yield* use(inbox(ids.ses("other")))).toEqual([inboxRow("other", "c")])
  }),

  "tells of a run once in its life, also when it was taken": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root")), write.session(session("other"))]))
    yield* use(commit([write.inbox(inboxRow("root", "a", "run"))]))
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "b", "run"))])))).toBe("constraint")
    yield* use(commit([write.taken("root", "a")]))
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "c", "run"))])))).toBe("constraint")
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("other", "d", "run"))])))).toBe("constraint")
    yield* use(commit([write.inbox(inboxRow("root", "e", "next"))]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "e", "next")])
  }),

  "keeps one of two rows for a run that are put at once": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const results = yield* use(Effect.forEach(
      ["a", "b"],
      (name) => reasonOf(commit([write.inbox(inboxRow("root", name, "run"))])),
      { concurrency: "unbounded" }
    ))
    expect(results).toEqual(["none", "constraint"])
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a", "run")])
  }),

  "lets one of two takers have a row, and undoes what the other did with it": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root")), write.inbox(inboxRow("root", "a", "run"))]))
    const results = yield* use(Effect.forEach(
      ["x", "y"],
      (name) => reasonOf(commit([write.message(message("root", name)), write.taken("root", "a")])),
      { concurrency: "unbounded" }
    ))
    expect(results).toEqual(["none", "constraint"])
    expect(yield* use(reasonOf(commit([write.taken("root", "a")])))).toBe("constraint")
    expect((yield* use(messages(ids.ses("root")))).rows.map((row) => row.info.id)).toEqual([ids.msg("x")])
  }),

  "refuses to take what does not wait there": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.session(session("other")),
      write.inbox(inboxRow("root", "a"))
    ]))
    expect(yield* use(reasonOf(commit([write.taken("root", "b")])))).toBe("constraint")
    expect(yield* use(reasonOf(commit([write.taken("other", "a")])))).toBe("constraint")
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a")])
  }),

  "replaces a row that waits, and leaves one that was taken taken": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [write.session(session("root")), write.inbox(inboxRow("root", "a", "run")), write.inbox(inboxRow("root", "b"))],
      [write.taken("root", "b")],
      [write.inbox(inboxRow("root", "a", "next")), write.inbox(inboxRow("root", "b"))],
      [write.inbox(inboxRow("root", "c", "run"))]
    ))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a", "next"), inboxRow("root", "c", "run")])
  }),

  "takes a row in the commit that puts it": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.inbox(inboxRow("root", "a", "run")),
      write.taken("root", "a")
    ]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([])
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "b", "run"))])))).toBe("constraint")
  })
}
