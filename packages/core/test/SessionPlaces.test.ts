/** Where sessions work: no row of an archive, and no row that is stored already, puts a subagent into another directory. */
import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Isolation } from "@skein/core/Isolation"
import { Session } from "@skein/core/Session"
import { exportTree } from "@skein/core/SessionArchive"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import type { Archive } from "@skein/domain/Archive"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { importText } from "./support/archive.ts"
import { callsMade, childrenOf, resultOf, root, treeOf } from "./support/tree.ts"

const evil = "/home/user"
const fakes: ReadonlyArray<Partial<SessionInfo>> = [
  { directory: evil },
  { directory: evil, worktree: { root: evil, branch: "x" } },
  { directory: "/repo/sub" },
  { directory: evil, projectID: "/home/user" }
]

/** Isolation that has the worktrees of all tasks. */
const isolation = Layer.succeed(Isolation, {
  open: ({ taskID }) => {
    const directory = `/worktrees/${taskID}`
    return Effect.succeed({ directory, root: directory, branch: taskID, base: "a", gitDirectory: "/git", omits: [] })
  },
  close: () => Effect.succeed({ kept: false as const }),
  contains: ({ directory, root, taskID }) =>
    Effect.succeed(root === `/worktrees/${taskID}` && (directory === root || directory.startsWith(`${root}/`))),
  list: Effect.succeed([]),
  remove: () => Effect.void
})

const again = (taskID: string) =>
  Scripted.call("task", { description: "d", prompt: "more", subagent_type: "worker", task_id: taskID })

/** A tree with a task, and a model that resumes it. Gives the requests of the task. */
const provide = (script: Scripted.Scripted) =>
  Effect.provide(
    Skein.layer({ provider: script.layer, agents: Agent.layerWith([SkeinTest.agent("worker")], []), isolation })
  )

const scripted = (isIsolated = false) => {
  const answers: Array<string> = []
  const script = Scripted.make({
    build: (request) => {
      const last = JSON.stringify(request.messages.at(-1))
      const task = /Resume (ses_\w+)/.exec(last)?.[1]
      if (task !== undefined) return again(task)
      if (!last.includes("Go")) return { text: "ok" }
      const more = isIsolated ? { isolation: "worktree" } : {}
      return Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker", ...more })
    },
    worker: () => {
      answers.push("found it")
      return { text: "found it" }
    }
  })
  const asked = () => answers.length
  return { script, asked }
}

const exported = (id: SessionID) => {
  const pieces: Array<string> = []
  return Effect.map(
    exportTree(id, (piece) => Effect.sync(() => void pieces.push(piece))),
    () => JSON.parse(pieces.join("")) as Archive
  )
}

const withChild = (archive: Archive, change: Partial<SessionInfo>): string => {
  const [top, ...below] = archive.sessions
  return JSON.stringify({
    ...archive,
    sessions: [top, ...below.map((each) => ({ ...each, info: { ...each.info, ...change } }))]
  })
}

describe("an imported tree", () => {
  for (const place of [undefined, { directory: "/new", projectID: "/new" }]) {
    it.effect(`works in one directory, whatever it says (${place === undefined ? "its own" : "another one"})`, () => {
      const { script } = scripted()
      return Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        const archive = yield* exported(id)
        for (const fake of fakes) {
          const given = place === undefined ? {} : { place }
          const top = yield* importText(withChild(archive, fake), { copy: true, ...given })
          const rows = yield* treeOf(top.id)
          expect(rows).toHaveLength(2)
          for (const { directory, projectID, worktree } of rows) {
            expect({ directory, projectID, worktree }, JSON.stringify(fake)).toEqual({
              directory: place?.directory ?? "/work",
              projectID: place?.projectID ?? top.projectID,
              worktree: undefined
            })
          }
        }
      }).pipe(provide(script))
    })
  }

  it.effect("belongs to the project of its directory, and not to one that it names", () => {
    const { script } = scripted()
    return Effect.gen(function*() {
      const { id } = yield* root({ projectID: "/trusted" })
      const archive = yield* exported(id)
      const projectOf = (directory: string) => Effect.succeed(`project of ${directory}`)
      const text = JSON.stringify(archive)
      expect(yield* importText(text, { copy: true, projectOf })).toMatchObject({ projectID: "project of /work" })
    }).pipe(provide(script))
  })
})

describe("a task whose stored directory is not its own", () => {
  it.effect("is not resumed, and does not work when it is prompted", () => {
    const { asked, script } = scripted()
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const storage = yield* SessionStorage
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const archive = yield* exported(id)
      for (const fake of fakes) {
        const top = yield* importText(withChild(archive, {}), { copy: true })
        const child = (yield* treeOf(top.id)).find(({ parentID }) => parentID === top.id)
        // As an earlier version has imported it.
        yield* storage.commit([{ _tag: "Session", info: { ...child!, ...fake }, isNew: true }])
        const before = asked()
        const request = { parentID: top.id, agent: "worker", description: "d", prompt: "p", byUser: true }
        const end = yield* Effect.either(tasks.run({ ...request, taskID: child!.id }))
        expect(JSON.stringify(end), JSON.stringify(fake)).toMatch(/Start a new task instead|Skein has no record/)
        yield* Session.prompt(top.id, `Resume ${child!.id}`)
        expect(resultOf((yield* callsMade(top.id)).at(-1)!)).toMatch(/Start a new task instead|Skein has no record/)
        expect(yield* Effect.flip(Session.prompt(child!.id, "Work"))).toMatchObject({ _tag: "ProjectUnavailable" })
        expect(asked(), JSON.stringify(fake)).toBe(before)
      }
    }).pipe(provide(script))
  })

  it.effect("may be its worktree, but not that of another task", () => {
    const { asked, script } = scripted(true)
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const storage = yield* SessionStorage
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* Session.prompt(id, "Go")
      const [one, other] = yield* childrenOf(id)
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true, taskID: one!.id }
      expect(yield* tasks.run(request)).toMatchObject({ status: "completed" })
      const copy = yield* Effect.flatMap(Session, (session) => session.fork(other!.id, {}))
      expect([copy.directory, copy.worktree]).toEqual(["/work", undefined])
      const before = asked()
      expect((yield* Session.prompt(copy.id, "Work")).text).toBe("found it")
      expect(asked()).toBe(before + 1)
      const top = yield* importText(withChild(yield* exported(id), {}), { copy: true })
      const first = (yield* treeOf(top.id)).find(({ parentID }) => parentID === top.id)
      const { directory, worktree } = other!
      yield* storage.commit([{ _tag: "Session", info: { ...first!, directory, worktree: worktree! }, isNew: true }])
      const end = yield* Effect.either(tasks.run({ ...request, parentID: top.id, taskID: first!.id }))
      expect(JSON.stringify(end)).toContain("Skein has no record")
      expect(asked()).toBe(before + 1)
    }).pipe(provide(script))
  })
})
