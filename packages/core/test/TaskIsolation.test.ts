import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Isolation, IsolationRefused, type WorkspaceEnd } from "@skein/core/Isolation"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { run } from "./support/sharedStorage.ts"
import { callsMade, childrenOf, expectStill, resultOf, root } from "./support/tree.ts"
import { stoppableClock } from "./support/wallClock.ts"

/** Isolation that records its calls. */
const makeIsolation = (end: WorkspaceEnd, refused?: IsolationRefused) => {
  const asked: Array<string> = []
  const layer = Layer.succeed(Isolation, {
    open: ({ directory, taskID }) => {
      asked.push(`open from ${directory}`)
      return refused ?? Effect.succeed({
        directory: `/worktrees/${taskID}/sub`,
        root: `/worktrees/${taskID}`,
        branch: `skein/${taskID}`,
        base: "abc",
        gitDirectory: "/project/.git",
        omits: ["2 uncommitted changes of the caller are not in it"]
      })
    },
    close: () => {
      asked.push("close")
      return Effect.succeed(end)
    },
    contains: ({ root, taskID }) => Effect.succeed(root === `/worktrees/${taskID}`),
    list: Effect.succeed([]),
    remove: () => Effect.void
  })
  return { asked, layer }
}

const kept: WorkspaceEnd = {
  kept: true,
  branch: "skein/x",
  directory: "/worktrees/x",
  commits: 1,
  onlyHere: 1,
  uncommitted: 2,
  diffStat: " a.ts | 2 +-"
}
const apart = (agent: string) =>
  Scripted.call("task", {
    description: "d",
    prompt: "p",
    subagent_type: agent,
    ...(agent === "worker" ? { isolation: "worktree" } : {})
  })
const provide = (script: Scripted.Scripted, isolation?: Layer.Layer<Isolation>) =>
  Effect.provide(Skein.layer({
    provider: script.layer,
    agents: Agent.layerWith([SkeinTest.agent("worker"), SkeinTest.agent("loner", { isolation: "worktree" })], []),
    ...(isolation === undefined ? {} : { isolation })
  }))

describe("an isolated task", () => {
  it.effect.each(["worker", "loner"])("knows its directory, and its result says where the work is (%s)", (agent) => {
    const { asked, layer } = makeIsolation(kept)
    const script = Scripted.make({ build: [apart(agent), "ok"], [agent]: ["done"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      expect(child).toMatchObject({
        directory: `/worktrees/${child!.id}/sub`,
        worktree: { root: `/worktrees/${child!.id}`, branch: `skein/${child!.id}` }
      })
      expect(child?.permission).toContainEqual({
        permission: "external_directory",
        pattern: "/project/*",
        action: "deny"
      })
      const prompt = Scripted.lastText(script.requests.find(({ origin }) => origin.sessionID === child!.id)!)
      expect(prompt).toMatch(
        /in the git worktree \/worktrees\/ses_\w+\/sub, on the branch skein\/ses_\w+\. .*2 uncommitted changes/
      )
      expect(resultOf((yield* callsMade(id))[0]!)).toContain(`<task_result>
done

The work is on the branch skein/x, in /worktrees/x: 1 commit, 2 files with changes that are not committed.
 a.ts | 2 +-
</task_result>`)
      expect(asked).toEqual(["open from /project", "close"])
      yield* expectStill(id, script)
    }).pipe(provide(script, layer))
  })

  it.effect("says that nothing is on its branch if it committed nothing", () => {
    const { layer } = makeIsolation({ ...kept, commits: 0, onlyHere: 0, uncommitted: 1 })
    const script = Scripted.make({ build: [apart("worker"), "ok"], worker: ["done"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain(
        "The branch skein/x has no commits of its own. The work is in /worktrees/x: 1 file with changes that are not committed.\n a.ts"
      )
    }).pipe(provide(script, layer))
  })

  it.effect("does not mention its worktree if nothing is left in it", () => {
    const { layer } = makeIsolation({ kept: false })
    const script = Scripted.make({ build: [apart("worker"), "ok"], worker: ["done"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain("<task_result>\ndone\n</task_result>")
    }).pipe(provide(script, layer))
  })

  it.effect("is reopened when it is resumed", () => {
    const { asked, layer } = makeIsolation(kept)
    const script = Scripted.make({
      build: (request) => {
        const task = /ses_\w+/.exec(JSON.stringify(request.messages.filter(({ role }) => role === "tool")))?.[0]
        if (task === undefined) return apart("worker")
        const asked = request.messages.filter(({ role }) => role === "assistant").length
        const again = { description: "d", prompt: "more", subagent_type: "worker", task_id: task }
        return asked === 1 ? Scripted.call("task", again) : { text: "ok" }
      },
      worker: ["one", "two"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      expect(yield* childrenOf(id)).toHaveLength(1)
      expect(asked).toEqual(["open from /project", "close", "open from /project", "close"])
    }).pipe(provide(script, layer))
  })

  it.effect("is refused, and leaves no session, if isolation is impossible", () => {
    const refused = new IsolationRefused({ reason: "no_commits", message: "The repository has no commits. Make one." })
    const script = Scripted.make({ build: [apart("worker"), "ok"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      expect(resultOf((yield* callsMade(id))[0]!)).toBe("The repository has no commits. Make one.")
      expect(yield* childrenOf(id)).toEqual([])
    }).pipe(provide(script, makeIsolation(kept, refused).layer))
  })

  it.effect("is refused by a program without isolation", () => {
    const script = Scripted.make({ build: [apart("worker"), "ok"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory: "/project" })
      yield* Session.prompt(id, "Go")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain("There is no isolation here")
    }).pipe(provide(script))
  })

  it("is not closed by a process that was frozen before that, and whose tree another one has taken over", () => {
    run((inner) =>
      Effect.gen(function*() {
        const { clock, stop } = yield* stoppableClock
        const { asked, layer } = makeIsolation({ kept: false })
        /** The tree changes hands while the process is frozen, right after its task has stored its last turn. */
        const takenOver = Effect.gen(function*() {
          const [root] = (yield* inner.sessions({ roots: true })).rows
          const found = Option.getOrThrow(yield* inner.lease(root!.id))
          stop(10_000)
          const lease = { rootID: root!.id, owner: "another", epoch: found.epoch + 1 }
          yield* inner.commit([{ _tag: "Hold", lease, length: 3_000, found }])
        })
        const isEnd = (write: Write) =>
          write._tag === "Session" && write.info.parentID !== undefined && write.info.turn?.ended !== undefined
        const storage = Layer.succeed(SessionStorage, {
          ...inner,
          mail: Effect.succeed(undefined),
          commit: (writes, onStored) =>
            Effect.tap(inner.commit(writes, onStored), () => writes.some(isEnd) ? Effect.orDie(takenOver) : Effect.void)
        })
        yield* Effect.gen(function*() {
          const script = Scripted.make({ build: [apart("worker"), "ok"], worker: ["done"] })
          const agents = Agent.layerWith([SkeinTest.agent("worker")], [])
          const here = yield* Layer.build(
            Skein.layer({ provider: script.layer, agents, isolation: layer, storage })
          )
          const { id } = yield* Effect.provide(root({ directory: "/project" }), here)
          expect(yield* Effect.flip(Effect.provide(Session.prompt(id, "Go"), here))).toMatchObject({ reason: "held" })
          expect(asked).toEqual(["open from /project"])
        }).pipe(Effect.withClock(clock))
      })
    )
  })
})
