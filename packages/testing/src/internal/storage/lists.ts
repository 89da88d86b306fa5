/** Tests of lists, and of what a deletion removes. */
import { expect } from "@effect/vitest"
import type { Approval, Write } from "@skein/core/SessionStorage"
import type { Todo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  approvals,
  commit,
  commitEach,
  events,
  inbox,
  messages,
  reasonOf,
  runOf,
  runs,
  sessionOf,
  sessions,
  storedIDs,
  type Tests,
  todos,
  unfinished
} from "./access.ts"
import { event, ids, inboxRow, message, part, run, session, write } from "./rows.ts"

const namesOf = (filter: Parameters<typeof sessions>[0]) =>
  Effect.map(sessions(filter), ({ rows }) => rows.map((info) => info.title))
const updated = (at: number) => ({ time: { created: 1, updated: at } })

/** The tests. */
export const lists: Tests = {
  "shows a draft and its runs to nobody before it is stored again": Effect.fnUntraced(function*(use) {
    const draft = (name: string, rest: Parameters<typeof session>[1] = {}): Write => ({
      _tag: "Session",
      info: session(name, rest),
      isDraft: true
    })
    const turn = { began: 1 }
    yield* use(commit([draft("a", { turn }), draft("ab", { parent: "a" }), write.session(session("b"))]))
    yield* use(commit([
      write.message(message("a", "m")),
      write.part(part("a", "m", "p")),
      write.run(run("r", "ab", { parentID: ids.ses("a"), rootID: ids.ses("a"), state: "settled" }))
    ]))
    const found = Effect.gen(function*() {
      return {
        all: yield* use(namesOf({})),
        tree: yield* use(namesOf({ rootID: ids.ses("a") })),
        below: yield* use(namesOf({ parentID: ids.ses("a") })),
        session: Option.isSome(yield* use(sessionOf(ids.ses("a")))),
        run: Option.isSome(yield* use(runOf(ids.run("r")))),
        runs: (yield* use(runs({}))).rows.length,
        newest: (yield* use(runs({ newest: { limit: 5 } }))).rows.length,
        ids: [
          ...yield* use(storedIDs("sessions", "ses_a", 9)),
          ...yield* use(storedIDs("runs", "run_", 9)),
          ...yield* use(storedIDs("tasks", "ses_", 9))
        ],
        unfinished: yield* use(unfinished),
        drafts: (yield* use(namesOf({ drafts: true }))).toSorted()
      }
    })
    expect(yield* found).toEqual({
      all: ["b"],
      tree: [],
      below: [],
      session: false,
      run: false,
      runs: 0,
      newest: 0,
      ids: [],
      unfinished: [],
      drafts: ["a", "ab"]
    })
    yield* use(commit([write.session(session("a")), write.session(session("ab", { parent: "a" }))]))
    expect(yield* found).toMatchObject({
      all: ["b", "ab", "a"],
      session: true,
      run: true,
      runs: 1,
      newest: 1,
      ids: ["ses_a", "ses_ab", "run_r", "ses_ab"],
      drafts: []
    })
    expect((yield* use(messages(ids.ses("a")))).rows).toEqual([
      { info: message("a", "m"), parts: [part("a", "m", "p")] }
    ])
  }),

  "lists sessions, newest change first": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("a", updated(3))),
      write.session(session("b", { ...updated(1), projectID: "other" })),
      write.session(session("c", { ...updated(2), parent: "a" })),
      write.session(session("d", { ...updated(3), parent: "c", root: "a" }))
    ]))
    expect(yield* use(namesOf({}))).toEqual(["d", "a", "c", "b"])
    expect(yield* use(namesOf({ limit: 2 }))).toEqual(["d", "a"])
    expect(yield* use(namesOf({ roots: true }))).toEqual(["a", "b"])
    expect(yield* use(namesOf({ roots: true, projectID: "other" }))).toEqual(["b"])
    expect(yield* use(namesOf({ rootID: ids.ses("a") }))).toEqual(["d", "a", "c"])
    expect(yield* use(namesOf({ parentID: ids.ses("a") }))).toEqual(["c"])
    yield* use(commit([write.session(session("b", updated(4)))]))
    expect(yield* use(namesOf({ limit: 1 }))).toEqual(["b"])
  }),

  "cuts the titles of listed roots, and no others": Effect.fnUntraced(function*(use) {
    const long = `${"\"ä\\\n\u2028\u0001".repeat(2_000)}end`
    yield* use(commit([
      write.session(session("a", { ...updated(2), title: long })),
      write.session(session("b", { ...updated(1), title: "x".repeat(501), parent: "a" })),
      write.session(session("c", { ...updated(1), title: "x".repeat(501) }))
    ]))
    const [first = "", second] = yield* use(namesOf({ roots: true, limit: 2 }))
    expect(first).toBe(`${long.slice(0, 499)}…`)
    expect(second).toBe(`${"x".repeat(499)}…`)
    expect(yield* use(namesOf({ parentID: ids.ses("a") }))).toEqual(["x".repeat(501)])
    expect(Option.map(yield* use(sessionOf(ids.ses("a"))), (info) => info.title)).toEqual(Option.some(long))
  }),

  "lists runs, oldest first": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("root")),
      write.session(session("a", { parent: "root" })),
      write.session(session("b", { parent: "root" })),
      write.run(run("3", "a", { state: "queued" })),
      write.run(run("1", "a", { state: "settled" })),
      write.run(run("2", "b", { parentID: ids.ses("a") }))
    ]))
    const idsOf = (filter: Parameters<typeof runs>[0]) =>
      Effect.map(runs(filter), ({ rows }) => rows.map((row) => row.id))
    expect(yield* use(idsOf({}))).toEqual(["1", "2", "3"].map(ids.run))
    expect(yield* use(idsOf({ taskID: ids.ses("a") }))).toEqual(["1", "3"].map(ids.run))
    expect(yield* use(idsOf({ parentID: ids.ses("a") }))).toEqual([ids.run("2")])
    expect(yield* use(idsOf({ rootID: ids.ses("root"), unsettled: true }))).toEqual(["2", "3"].map(ids.run))
    expect(yield* use(idsOf({ rootID: ids.ses("b") }))).toEqual([])
  }),

  "finds ids by their prefix": Effect.fnUntraced(function*(use) {
    yield* use(commit([
      write.session(session("ab1")),
      write.session(session("ab2", { parent: "ab1" })),
      write.session(session("abz", { parent: "ab1" })),
      write.session(session("ac", { parent: "ab1" })),
      write.run(run("r1", "ab2")),
      write.run(run("r2", "ab2")),
      write.run(run("q", "abz"))
    ]))
    const ses = (...names: ReadonlyArray<string>): ReadonlyArray<string> => names.map(ids.ses)
    expect(yield* use(storedIDs("sessions", ids.ses("ab"), 9))).toEqual(ses("ab1", "ab2", "abz"))
    expect(yield* use(storedIDs("sessions", ids.ses("ab"), 2))).toEqual(ses("ab1", "ab2"))
    expect(yield* use(storedIDs("sessions", ids.ses("ab2"), 2))).toEqual(ses("ab2"))
    expect(yield* use(storedIDs("sessions", ids.ses("b"), 2))).toEqual([])
    // A root is not a task, and a task with two runs is one task.
    expect(yield* use(storedIDs("tasks", ids.ses("a"), 9))).toEqual(ses("ab2", "abz"))
    expect(yield* use(storedIDs("runs", ids.run("r"), 9))).toEqual(["r1", "r2"].map(ids.run))
  }),

  "keeps approvals by project until they are removed": Effect.fnUntraced(function*(use) {
    const approval = (id: string, created: number, projectID = "project"): Approval => ({
      id,
      projectID,
      permission: "bash",
      pattern: `git ${id}`,
      created
    })
    const put = (each: Approval) => ({ _tag: "Approval", approval: each }) as const
    yield* use(
      commit([put(approval("b", 1)), put(approval("a", 2)), put(approval("c", 1, "other")), put(approval("d", 0))])
    )
    expect(yield* use(approvals("project"))).toEqual([approval("d", 0), approval("b", 1), approval("a", 2)])
    yield* use(
      commit([put({ ...approval("a", 3), host: "box+1" }), { _tag: "RemoveApproval", id: "b" }, {
        _tag: "RemoveApproval",
        id: "x"
      }])
    )
    expect(yield* use(approvals("project"))).toEqual([approval("d", 0), { ...approval("a", 3), host: "box+1" }])
    expect(yield* use(approvals("other"))).toEqual([approval("c", 1, "other")])
  }),

  "keeps approvals of a tree separate from those of its project, while the tree exists": Effect.fnUntraced(
    function*(use) {
      const approval = (id: string, created: number, root?: string): Approval => ({
        id,
        projectID: "project",
        permission: "bash",
        pattern: "ls",
        created,
        ...(root === undefined ? {} : { rootID: ids.ses(root) })
      })
      const put = (each: Approval) => ({ _tag: "Approval", approval: each }) as const
      const all = [approval("a", 1, "one"), approval("b", 2), approval("c", 3, "two")] as const
      // The row that it belongs to may come after it.
      yield* use(commit([...all.map(put), write.session(session("one")), write.session(session("two"))]))
      yield* use(commit([write.session(session("below", { parent: "one" }))]))
      expect(yield* use(approvals("project"))).toEqual(all)
      expect(yield* use(approvals("project", ids.ses("one")))).toEqual([all[0], all[1]])
      expect(yield* use(approvals("project", ids.ses("three")))).toEqual([all[1]])
      expect(yield* use(approvals("other", ids.ses("one")))).toEqual([])
      expect(yield* use(reasonOf(commit([put(approval("d", 4, "none"))])))).toBe("constraint")
      yield* use(commit([write.delete("below")]))
      expect(yield* use(approvals("project"))).toEqual(all)
      yield* use(commit([write.delete("one")]))
      expect(yield* use(approvals("project"))).toEqual([all[1], all[2]])
    }
  ),

  "replaces the todos of a session": Effect.fnUntraced(function*(use) {
    const list: ReadonlyArray<Todo> = [
      { content: "b", status: "in_progress", priority: "high" },
      { content: "a", status: "pending", priority: "low" }
    ]
    const sessionID = ids.ses("root")
    yield* use(commit([write.session(session("root")), { _tag: "Todos", sessionID, todos: list }]))
    expect(yield* use(todos(sessionID))).toEqual(list)
    yield* use(commit([{ _tag: "Todos", sessionID, todos: list.slice(1) }]))
    expect(yield* use(todos(sessionID))).toEqual(list.slice(1))
  }),

  "deletes a session with everything below it and all its rows": Effect.fnUntraced(function*(use) {
    const tree = ["root", "child", "grandchild", "sibling"]
    yield* use(commit([
      write.session(session("root")),
      write.session(session("child", { parent: "root" })),
      write.session(session("grandchild", { parent: "child", root: "root" })),
      write.session(session("sibling", { parent: "root" })),
      ...tree.flatMap((name) => [
        write.message(message(name, name)),
        write.part(part(name, name, name)),
        write.run(run(name, name)),
        write.inbox(inboxRow(name, `${name}inbox`, name)),
        {
          _tag: "Todos",
          sessionID: ids.ses(name),
          todos: [{ content: name, status: "pending", priority: "low" }]
        } as const,
        write.event(event(name, name, "session.idle", {}, "root"))
      ])
    ]))
    yield* use(commit([
      write.delete("child"),
      write.event(event("child", "deleted", "session.deleted", { info: session("child", { parent: "root" }) }, "root")),
      write.delete("stranger")
    ]))
    expect((yield* use(namesOf({}))).toSorted()).toEqual(["root", "sibling"])
    for (const name of tree) {
      const left = name === "child" || name === "grandchild" ? 0 : 1
      expect((yield* use(messages(ids.ses(name)))).rows.flatMap((row) => row.parts).length).toBe(left)
      expect((yield* use(inbox(ids.ses(name)))).length).toBe(left)
      expect((yield* use(todos(ids.ses(name)))).length).toBe(left)
      expect(Option.isSome(yield* use(runOf(ids.run(name))))).toBe(left === 1)
    }
    expect((yield* use(events({ after: 0 }))).map((logged) => logged.event.id)).toEqual(
      ["root", "sibling", "deleted"].map(ids.evt)
    )
  }),

  "keeps nothing of a deleted session for a new one with its id": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [write.session(session("root")), write.message(message("root", "a")), write.inbox(inboxRow("root", "b", "run"))],
      [
        write.message(message("root", "d")),
        write.delete("root"),
        write.session(session("root", { title: "anew" })),
        write.message(message("root", "c"))
      ]
    ))
    expect(Option.map(yield* use(sessionOf(ids.ses("root"))), (info) => info.title)).toEqual(Option.some("anew"))
    expect((yield* use(messages(ids.ses("root")))).rows.map((row) => row.info.id)).toEqual([ids.msg("c")])
    expect(yield* use(inbox(ids.ses("root")))).toEqual([])
    expect(yield* use(reasonOf(commit([write.inbox(inboxRow("root", "d", "run"))])))).toBe("none")
  })
}
