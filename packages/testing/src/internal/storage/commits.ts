/** Tests of commits: atomic, in order, and independent of each other. */
import { expect } from "@effect/vitest"
import type { Write } from "@skein/core/SessionStorage"
import type { TaskRun } from "@skein/domain/Outcome"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import {
  commit,
  commitWith,
  events,
  inbox,
  messages,
  reasonOf,
  runs,
  sessionOf,
  sessions,
  type Tests,
  todos
} from "./access.ts"
import { event, ids, inboxRow, message, part, run, session, write } from "./rows.ts"

/** The tests. */
export const commits: Tests = {
  "stores all changes of a commit or none": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root")), write.inbox(inboxRow("root", "a", "a"))]))
    const refused = commit([
      write.session(session("root", { title: "changed" })),
      write.message(message("root", "m")),
      { _tag: "Todos", sessionID: ids.ses("root"), todos: [{ content: "x", status: "pending", priority: "low" }] },
      write.event(event("root", "a", "session.idle", {})),
      { _tag: "DeleteSession", id: ids.ses("root") },
      write.session(session("root")),
      write.message(message("stranger", "m"))
    ])
    expect(yield* use(reasonOf(refused))).toBe("constraint")
    expect(yield* use(sessionOf(ids.ses("root")))).toEqual(Option.some(session("root")))
    expect((yield* use(messages(ids.ses("root")))).rows).toEqual([])
    expect(yield* use(todos(ids.ses("root")))).toEqual([])
    expect(yield* use(events({ after: 0 }))).toEqual([])
    expect(yield* use(inbox(ids.ses("root")))).toEqual([inboxRow("root", "a", "a")])
  }),

  "refuses rows without their parent row": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const orphans: ReadonlyArray<Write> = [
      write.session(session("child", { parent: "stranger" })),
      write.message(message("stranger", "a")),
      write.part(part("root", "stranger", "a")),
      write.run(run("a", "stranger")),
      write.inbox(inboxRow("stranger", "a")),
      { _tag: "Todos", sessionID: ids.ses("stranger"), todos: [] }
    ]
    for (const orphan of orphans) expect(yield* use(reasonOf(commit([orphan])))).toBe("constraint")
  }),

  "accepts a row's parent anywhere in the same commit": Effect.fnUntraced(function*(use) {
    const children = Array.from({ length: 70 }, (_, index) => session(`c${index}`, { parent: "root" }))
    yield* use(commit([
      write.part(part("c0", "a", "a")),
      write.message(message("c0", "a")),
      ...children.map(write.session),
      write.session(session("root"))
    ]))
    expect((yield* use(sessions({ parentID: ids.ses("root") }))).rows.length).toBe(70)
    expect((yield* use(messages(ids.ses("c0")))).rows.flatMap((row) => row.parts)).toEqual([part("c0", "a", "a")])
  }),

  "stores commits in the order of the requests": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const titles = Array.from({ length: 1_500 }, (_, index) => `${index}`)
    yield* use(Effect.forEach(
      titles,
      (title) =>
        commit([write.session(session("root", { title })), write.event(event("root", title, "session.idle", {}))]),
      { concurrency: "unbounded", discard: true }
    ))
    expect(Option.map(yield* use(sessionOf(ids.ses("root"))), (info) => info.title)).toEqual(Option.some("1499"))
    expect((yield* use(events({ after: 0 }))).map((logged) => logged.event.id)).toEqual(titles.map(ids.evt))
  }),

  "lets a refused commit fail alone in its group": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const names = ["a", "b", "c", "d"]
    const results = yield* use(Effect.forEach(
      names,
      (name) => reasonOf(commit([write.message(message(name === "c" ? "stranger" : "root", name))])),
      { concurrency: "unbounded" }
    ))
    expect(results).toEqual(["none", "none", "constraint", "none"])
    expect((yield* use(messages(ids.ses("root")))).rows.map((row) => row.info.id)).toEqual(["a", "b", "d"].map(ids.msg))
  }),

  "reports stored commits in order, each before it ends, and none that is refused": Effect
    .fnUntraced(function*(use) {
      yield* use(commit([write.session(session("root"))]))
      const said: Array<string> = []
      const ended: Array<string> = []
      yield* use(Effect.forEach(
        ["a", "b", "stranger", "c"],
        (name) => {
          const of = name === "stranger" ? name : "root"
          return commitWith([write.message(message(of, name))], () => void said.push(name)).pipe(
            Effect.match({
              onFailure: () => void ended.push("refused"),
              onSuccess: () => void ended.push(said.includes(name) ? name : "early")
            })
          )
        },
        { concurrency: "unbounded", discard: true }
      ))
      yield* use(commitWith([], () => void said.push("nothing")))
      expect(said).toEqual(["a", "b", "c", "nothing"])
      expect(ended.toSorted()).toEqual(["a", "b", "c", "refused"])
    }),

  "keeps a settled run settled, in a later commit and in a concurrent one": Effect.fnUntraced(function*(use) {
    yield* use(commit([write.session(session("root"))]))
    const running: TaskRun = { ...run("a", "root"), state: "running" }
    const settled: TaskRun = { ...running, state: "settled" }
    yield* use(commit([write.run(running), write.run(settled), write.run(running)]))
    expect((yield* use(runs({}))).rows).toEqual([settled])
    yield* use(commit([write.run(running)]))
    expect((yield* use(runs({}))).rows).toEqual([settled])
    const again: TaskRun = { ...settled, description: "again" }
    yield* use(commit([write.run(again)]))
    expect((yield* use(runs({}))).rows).toEqual([again])
  }),

  "stores everything that a hundred sessions commit concurrently": Effect.fnUntraced(function*(use) {
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
    yield* use(Effect.forEach(names, (name) =>
      Effect.forEach([0, 1, 2, 3, 4, 5], (step) =>
        commit([
          write.session(session(name, { time: { created: 1, updated: step } })),
          write.message(message(name, `${name}x${step}`)),
          write.part(part(name, `${name}x${step}`, `${name}x${step}`)),
          write.event(event(name, `${name}x${step}`, "session.idle", {}))
        ]), { discard: true }), { concurrency: "unbounded", discard: true }))
    expect((yield* use(sessions({}))).rows.map((info) => info.time.updated)).toEqual(names.map(() => 5))
    const found = yield* use(Effect.forEach(names, (name) => messages(ids.ses(name))))
    expect(found.map(({ rows }) => rows.map(({ parts }) => parts.length))).toEqual(names.map(() => [1, 1, 1, 1, 1, 1]))
    const log = yield* use(events({ after: 0 }))
    expect(log.length).toBe(600)
    expect(log.every(({ position }, index) => position > (log[index - 1]?.position ?? 0))).toBe(true)
  }),

  "stores a requested commit even if the caller is interrupted": Effect.fnUntraced(function*(use) {
    yield* use(Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        Effect.zipRight(Deferred.succeed(asked, undefined), commit([write.session(session("a"))]))
      )
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      yield* commit([write.session(session("b"))])
    }))
    expect((yield* use(sessions({}))).rows.map((info) => info.id)).toEqual([ids.ses("b"), ids.ses("a")])
  })
}
