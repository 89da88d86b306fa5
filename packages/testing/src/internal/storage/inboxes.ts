/** Tests of the inbox: each row is delivered once, in order. */
import { expect } from "@effect/vitest"
import { receiptLifetime } from "@skein/core/Write"
import type { ControlRow } from "@skein/domain/Control"
import { ControlID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { commit, commitEach, control, inbox, messages, reasonOf, type Tests, waiting } from "./access.ts"
import { ids, inboxRow, message, session, write } from "./rows.ts"

/** The tests. */
export const inboxes: Tests = {
  "returns the inbox of a session, oldest first, until a row is taken": Effect.fnUntraced(function*(use) {
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

  "finds the requests to the holder of a tree, and answers none that was withdrawn": Effect.fnUntraced(function*(use) {
    const asked = (tree: string, name: string, created = 1): ControlRow => ({
      id: ControlID.make(`ctl_${name}`),
      sessionID: ids.ses(tree),
      rootID: ids.ses(tree),
      request: { type: "stop" },
      time: { created }
    })
    const put = (row: ControlRow) => ({ _tag: "Control", row }) as const
    const answered = (row: ControlRow) => put({ ...row, answer: { ok: true } })
    const [first, second, gone, other] = [
      asked("root", "a"),
      asked("root", "b"),
      asked("root", "c"),
      asked("other", "d")
    ]
    yield* use(
      commit([write.session(session("root")), write.session(session("other")), ...[second, gone, other].map(put)])
    )
    yield* use(commit([put(first), { _tag: "RemoveControl", id: gone.id }]))
    expect(yield* use(waiting(ids.ses("root")))).toEqual([first, second])
    expect(yield* use(waiting(ids.ses("other")))).toEqual([other])
    yield* use(commit([answered(first), answered(gone)]))
    expect(yield* use(waiting(ids.ses("root")))).toEqual([second])
    expect(yield* use(control(first.id))).toEqual(Option.some(answered(first).row))
    expect(yield* use(control(gone.id))).toEqual(Option.none())
    // An answer that nobody reads is forgotten after a day, and with its session. What waits stays.
    yield* use(commit([put(asked("root", "e", receiptLifetime))]))
    expect(yield* use(control(first.id))).toEqual(Option.some(answered(first).row))
    yield* use(commit([put(asked("other", "f", receiptLifetime + 1))]))
    expect(yield* use(control(first.id))).toEqual(Option.none())
    expect((yield* use(waiting(ids.ses("root")))).map(({ id }) => id)).toEqual([second.id, "ctl_e"])
    yield* use(commit([answered(other), { _tag: "DeleteSession", id: ids.ses("other") }]))
    expect(yield* use(control(other.id))).toEqual(Option.none())
  }),

  "reports a run once, even after its row was taken": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root")), write.session(session("other"))]))
    yield* use(commit([write.inbox(inboxRow("root", "a", "run"))]))
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "b", "run"))])))).toBe("constraint")
    yield* use(commit([write.taken("root", "a")]))
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "c", "run"))])))).toBe("constraint")
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("other", "d", "run"))])))).toBe("constraint")
    yield* use(commit([write.inbox(inboxRow("root", "e", "next"))]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "e", "next")])
  }),

  "keeps one of two concurrent rows for a run": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const results = yield* use(Effect.forEach(
      ["a", "b"],
      (name) => reasonOf(commit([write.inbox(inboxRow("root", name, "run"))])),
      { concurrency: "unbounded" }
    ))
    expect(results).toEqual(["none", "constraint"])
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a", "run")])
  }),

  "lets one of two takers have a row, and undoes the commit of the other": Effect.fnUntraced(function*(use) {
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

  "refuses to take a row that is not in the inbox": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.session(session("other")),
      write.inbox(inboxRow("root", "a"))
    ]))
    expect(yield* use(reasonOf(commit([write.taken("root", "b")])))).toBe("constraint")
    expect(yield* use(reasonOf(commit([write.taken("other", "a")])))).toBe("constraint")
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a")])
  }),

  "replaces an unread row, and keeps a taken one taken": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [write.session(session("root")), write.inbox(inboxRow("root", "a", "run")), write.inbox(inboxRow("root", "b"))],
      [write.taken("root", "b")],
      [write.inbox(inboxRow("root", "a", "next")), write.inbox(inboxRow("root", "b"))],
      [write.inbox(inboxRow("root", "c", "run"))]
    ))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a", "next"), inboxRow("root", "c", "run")])
  }),

  "takes a row in the commit that stores it": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.inbox(inboxRow("root", "a", "run")),
      write.taken("root", "a")
    ]))
    expect(yield* use(inbox(ids.ses("root")))).toEqual([])
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "b", "run"))])))).toBe("constraint")
  })
}
