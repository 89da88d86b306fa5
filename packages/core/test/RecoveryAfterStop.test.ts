/** Proves that a stop holds for what was unread then, whenever its process dies, and not for what is sent after it. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, stride } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { asked as agentsAsked, type Generation, generations } from "./support/generations.ts"
import { asked } from "./support/said.ts"
import { childrenOf, expectStill, messagesOf, root } from "./support/tree.ts"

type Request = Scripted.Scripted["requests"][number]

const task = (description: string, background: boolean) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type: "worker", background }
})

/** Agents that work for hours, except for what is quick; the answer to "delegate" calls tasks. */
const same = (tasks: ReadonlyArray<ReturnType<typeof task>> = []): Omit<Generation, "program"> => ({
  options: { agents: [SkeinTest.agent("worker")] },
  scripts: {
    build: (request: Request) => {
      const last = asked(request).at(-1) ?? ""
      if (request.messages.at(-1)?.role === "tool" || last === "work") return { text: "so far", hangs: true }
      return last === "delegate" ? { calls: tasks } : `to ${last}`
    },
    worker: (request: Request) => {
      const last = asked(request).at(-1) ?? ""
      return last === "long" ? { text: "so far", hangs: true } : `to ${last}`
    }
  }
})

const storage = Effect.flatMap(SessionStorage, Effect.succeed)
const unfinished = Effect.flatMap(storage, (each) => each.unfinished)
const unread = (id: SessionID) => Effect.map(Effect.flatMap(storage, (each) => each.inbox(id)), ({ rows }) => rows)

/** What agents read in a session. */
const readIn = (id: SessionID) =>
  Effect.map(
    messagesOf(id),
    (all) =>
      all.flatMap(({ info, parts }) =>
        info.role === "user" ? parts.flatMap((part) => part.type === "text" ? [part.text] : []) : []
      )
  )

const rest = (id: SessionID) =>
  Effect.gen(function*() {
    const session = yield* Session
    yield* session.untilIdle(id).pipe(Effect.exit)
    for (const child of yield* childrenOf(id)) yield* session.untilIdle(child.id).pipe(Effect.exit)
    yield* Effect.sleep(1_000)
  })

/** Takes up whatever is unfinished, as a server does when it starts; fails if that never ends. */
const sweep = Effect.gen(function*() {
  const session = yield* Session
  for (let looks = 0; looks < 5; looks++) {
    const found = yield* unfinished
    for (const id of found) yield* Effect.zipRight(session.resume(id), rest(id))
    if (found.length === 0) return
  }
  return yield* Effect.dieMessage("There is unfinished work for ever")
})

/** A tree at work, with something unread. */
interface Scene {
  readonly same: Omit<Generation, "program">
  /** The commits around its stop. */
  readonly commits: readonly [from: number, to: number]
  readonly before: (id: SessionID) => Effect.Effect<unknown, unknown, Session | Tasks>
  /** What the next prompt finds: what is read in the root, and in its tasks. */
  readonly check: (root: ReadonlyArray<string>, tasks: ReadonlyArray<string>) => void
}

const send = (id: SessionID, text: string, after?: "turn") =>
  Effect.zipRight(Effect.fork(Session.prompt(id, text, after === undefined ? {} : { after })), Effect.sleep(100))

const tell = (id: SessionID, text: string) =>
  Effect.gen(function*() {
    const [child] = yield* childrenOf(id)
    yield* Effect.flatMap(Tasks, (tasks) => tasks.message({ parentID: id, taskID: child!.id }, text))
  })

const scenes: Readonly<Record<string, Scene>> = {
  "a message to a task": {
    commits: [10, 26],
    same: same([task("long", false)]),
    before: (id) => Effect.zipRight(send(id, "delegate"), tell(id, "and this")),
    // The task reads it with its next run.
    check: (read, tasks) => {
      expect(read).toEqual(["delegate", "next"])
      expect(tasks).toEqual(["long"])
    }
  },
  "a second prompt": {
    commits: [5, 12],
    same: same(),
    before: (id) => Effect.zipRight(send(id, "work"), send(id, "and this")),
    check: (read) => expect(read).toEqual(["work", "and this", "next"])
  },
  "a prompt for after the turn": {
    commits: [5, 12],
    same: same(),
    before: (id) => Effect.zipRight(send(id, "work"), send(id, "and this", "turn")),
    check: (read) => expect([...read].toSorted()).toEqual(["and this", "next", "work"])
  },
  "a notification": {
    commits: [10, 24],
    same: same([task("quick", true)]),
    before: (id) => send(id, "delegate"),
    check: (read) => {
      expect(read[0]).toBe("delegate")
      expect(read.at(-1)).toBe("next")
      expect(read.filter((text) => text.includes("to quick"))).toHaveLength(1)
    }
  }
}

/** How far the first process got. */
interface Log {
  sent: boolean
  stopped: boolean
}

/** The deaths of a process at these commits. */
const deaths = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)
    .flatMap((at) => [true, false].map((made) => ({ at, made })))

/** A third of them where a fifth of the seeds is tried. */
const some = (each: ReturnType<typeof deaths>) => each.filter((_, n) => n % Math.min(stride, 3) === 0)

const isStopStored = (id: SessionID) =>
  Effect.map(Effect.flatMap(Session, (session) => session.get(id)), ({ turn }) => turn?.ended?.how === "stopped")

describe("what is unread at a stop", () => {
  for (const [what, scene] of Object.entries(scenes)) {
    it(`wakes nothing, at whichever commit its process dies: ${what}`, () => {
      let held = 0
      for (const seed of seeds(1, 5)) {
        for (const dies of some(deaths(...scene.commits))) {
          const log: Log = { sent: false, stopped: false }
          let isHeld = false
          const where = `seed ${seed}, commit ${dies.at}, ${dies.made ? "made" : "not made"}`
          generations(
            {
              ...scene.same,
              seed,
              dies,
              program: Effect.gen(function*() {
                const { id } = yield* root()
                yield* scene.before(id)
                log.sent = true
                yield* Effect.flatMap(Session, (session) => session.stop(id))
                log.stopped = true
                yield* Effect.sleep(1_000)
              })
            },
            {
              ...scene.same,
              program: (id, script) =>
                Effect.gen(function*() {
                  isHeld = log.sent && (yield* isStopStored(id))
                  if (log.stopped) expect(isHeld, where).toBe(true)
                  if (!isHeld) return
                  held++
                  yield* sweep
                  expect(agentsAsked(script), where).toEqual([])
                })
            },
            {
              ...scene.same,
              program: (id, script) =>
                Effect.gen(function*() {
                  if (!isHeld) return
                  expect(yield* unfinished, where).toEqual([])
                  const session = yield* Session
                  yield* session.resume(id)
                  yield* rest(id)
                  expect(agentsAsked(script), where).toEqual([])
                  yield* session.prompt(id, "next")
                  yield* rest(id)
                  expect(yield* unread(id), where).toEqual([])
                  const children = yield* childrenOf(id)
                  const read = yield* Effect.forEach(children, (child) => readIn(child.id))
                  scene.check(yield* readIn(id), read.flat())
                  yield* expectStill(id, script)
                  // Also when the next prompt has replaced the turn that was stopped.
                  expect(yield* unfinished, where).toEqual([])
                })
            }
          )
        }
      }
      expect(held).toBeGreaterThan(1)
    })
  }
})

describe("what is sent right after a stop", () => {
  it("is read, in whichever order and at whichever commit its process dies", () => {
    let found = 0
    for (const seed of seeds(1, 10)) {
      for (const dies of deaths(5, 16)) {
        const where = `seed ${seed}, commit ${dies.at}, ${dies.made ? "made" : "not made"}`
        generations(
          {
            ...same(),
            seed,
            dies,
            program: Effect.gen(function*() {
              const session = yield* Session
              const { id } = yield* root()
              yield* send(id, "work")
              yield* send(id, "before")
              yield* session.stop(id)
              yield* Effect.fork(session.prompt(id, "after"))
              yield* Effect.sleep(1_000)
            })
          },
          {
            ...same(),
            program: (id) =>
              Effect.gen(function*() {
                const isSent = (yield* unread(id)).some(({ parts }) => JSON.stringify(parts).includes("after"))
                if (!isSent) return
                found++
                yield* sweep
                expect((yield* readIn(id)).slice(-2), where).toEqual(["before", "after"])
                expect(yield* unread(id), where).toEqual([])
              })
          }
        )
      }
    }
    expect(found).toBeGreaterThan(1)
  })

  it("starts nothing if it was sent before the stop and was still being stored", () => {
    let found = 0
    for (const seed of seeds(1, 40)) {
      for (const dies of deaths(2, 8)) {
        const where = `seed ${seed}, commit ${dies.at}, ${dies.made ? "made" : "not made"}`
        const log: Log = { sent: false, stopped: false }
        let wasSent = false
        generations(
          {
            ...same(),
            seed,
            dies,
            program: Effect.gen(function*() {
              const session = yield* Session
              const { id } = yield* root()
              const onStoring = () => {
                log.sent = true
              }
              const prompting = yield* Effect.fork(session.prompt(id, "Go", { onStoring }))
              while (!log.sent) yield* Effect.yieldNow()
              wasSent = true
              yield* session.stop(id)
              log.stopped = true
              yield* Fiber.await(prompting)
            })
          },
          {
            ...same(),
            program: (_, script) =>
              Effect.gen(function*() {
                if (!wasSent || !log.stopped) return
                found++
                yield* sweep
                expect(agentsAsked(script), where).toEqual([])
              })
          }
        )
      }
    }
    expect(found).toBeGreaterThan(1)
  })
})

describe("a stop of a task's session", () => {
  it("starts no run for a message that it had not read", () => {
    const scene = same([task("long", false)])
    const program = Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* send(id, "delegate")
      yield* tell(id, "and this")
      const [child] = yield* childrenOf(id)
      yield* session.stop(child!.id)
      yield* Effect.sleep(1_000)
      const { rows } = yield* Effect.flatMap(SessionStorage, (each) => each.runs({ rootID: id }))
      expect(rows.map(({ outcome }) => outcome?.status)).toEqual(["stopped"])
      yield* session.stop(id)
    })
    generations({ ...scene, dies: 5_000, program }, {
      ...scene,
      program: (id, script) =>
        Effect.gen(function*() {
          yield* sweep
          expect(agentsAsked(script)).toEqual([])
          const [child] = yield* childrenOf(id)
          const tasks = yield* Tasks
          yield* tasks.message({ parentID: id, taskID: child!.id }, "go on")
          yield* rest(id)
          expect(yield* readIn(child!.id)).toEqual(["long", "and this", "go on"])
        })
    })
  })
})

describe("a tree of a dead process", () => {
  it("is stopped whole in the millisecond in which its tasks were requested", () => {
    const scene = same([task("long", false), task("long", true)])
    for (const dies of deaths(4, 16)) {
      generations(
        { ...scene, dies, program: Effect.flatMap(root(), ({ id }) => Session.prompt(id, "delegate")) },
        {
          ...scene,
          program: (id, script) =>
            Effect.gen(function*() {
              yield* Effect.flatMap(Session, (session) => session.stop(id))
              const { rows } = yield* Effect.flatMap(SessionStorage, (each) => each.runs({ rootID: id }))
              expect(rows.filter(({ state }) => state !== "settled"), JSON.stringify(dies)).toEqual([])
              expect(agentsAsked(script)).toEqual([])
            })
        }
      )
    }
  })
})

describe("the prompt of a task", () => {
  it("is read once, in whichever order its start is stored and at whichever commit its process dies", () => {
    const scene = same([task("quick", true)])
    for (const seed of seeds(1, 10)) {
      for (const dies of deaths(3, 18)) {
        generations(
          { ...scene, seed, dies, program: Effect.flatMap(root(), ({ id }) => send(id, "delegate")) },
          {
            ...scene,
            program: (id) =>
              Effect.gen(function*() {
                yield* Effect.flatMap(Session, (session) => session.resume(id))
                yield* Effect.sleep(5_000)
                for (const child of yield* childrenOf(id)) {
                  expect(yield* readIn(child.id), `seed ${seed}, ${JSON.stringify(dies)}`).toEqual(["quick"])
                }
              })
          }
        )
      }
    }
  })
})
