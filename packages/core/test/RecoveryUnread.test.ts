/** Proves that the look for unfinished trees finds every prompt that no agent had read when its process died. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { type Generation, generations } from "./support/generations.ts"
import type { Life } from "./support/mortal.ts"
import { asked } from "./support/said.ts"
import { childrenOf, messagesOf, root } from "./support/tree.ts"

type Request = Scripted.Scripted["requests"][number]

const answers = (request: Request) => `to ${asked(request).at(-1)}`

const same: Omit<Generation, "program"> = {
  options: { agents: [SkeinTest.agent("worker")] },
  tools: (life: Life) => [SkeinTest.tool("slow", () => life.alive(Effect.as(Effect.sleep(1_000), "slept")))],
  scripts: {
    build: (request) => {
      if (request.messages.some(({ role }) => role === "tool")) return answers(request)
      const last = asked(request).at(-1) ?? ""
      if (last === "delegate") {
        return { calls: [{ tool: "task", input: { description: "d", prompt: "p", subagent_type: "worker" } }] }
      }
      return { calls: [{ tool: "slow", input: {} }] }
    },
    worker: answers
  }
}

/** Takes up what the look finds, as a server of a cluster does; fails if it finds the same again and again. */
const sweep = Effect.gen(function*() {
  const session = yield* Session
  const storage = yield* SessionStorage
  for (let looks = 0; looks < 5; looks++) {
    const found = yield* storage.unfinished
    for (const id of found) {
      yield* session.resume(id)
      yield* session.untilIdle(id)
      for (const child of yield* childrenOf(id)) yield* session.untilIdle(child.id)
    }
    if (found.length === 0) return
  }
  return yield* Effect.dieMessage("The look finds unfinished work for ever")
})

/** What a person said in a session, as its agent read it. */
const readBy = (id: SessionID) =>
  Effect.map(
    messagesOf(id),
    (all) =>
      all.flatMap(({ info, parts }) =>
        info.role === "user" ? parts.flatMap((part) => part.type === "text" ? [part.text] : []) : []
      )
  )

/** Every stored prompt is read once. Returns what was read. */
const allRead = (id: SessionID) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    expect((yield* storage.inbox(id)).rows).toEqual([])
    const read = yield* readBy(id)
    expect(new Set(read).size).toBe(read.length)
    return read
  })

const queue = (id: SessionID, text: string) => Effect.fork(Session.prompt(id, text, { after: "turn" }))

/** Runs a program that dies after each of these commits, then looks for unfinished trees; gives all that was read then. */
const atEachCommit = (
  from: number,
  to: number,
  program: ReturnType<Generation["program"]>,
  found: (id: SessionID) => ReturnType<typeof allRead>
): ReadonlyArray<string> => {
  const read = new Set<string>()
  for (let at = from; at <= to; at++) {
    generations({ ...same, dies: { at, made: true }, program }, {
      ...same,
      program: (id) =>
        Effect.gen(function*() {
          yield* sweep
          for (const text of yield* found(id)) read.add(text)
        })
    })
  }
  return [...read].toSorted()
}

describe("a prompt for after the turn", () => {
  it("is read after a crash at any commit, once", () => {
    const program = Effect.gen(function*() {
      const { id } = yield* root()
      yield* queue(id, "one")
      yield* Effect.sleep(100)
      yield* queue(id, "two")
      yield* queue(id, "three")
      yield* Effect.sleep(5_000)
    })
    expect(atEachCommit(1, 30, program, allRead)).toEqual(["one", "three", "two"])
  })

  it("is not read after a stop, until another prompt is sent", () => {
    const readLater = new Set<string>()
    for (const at of [1, 2, 3, 4, 5]) {
      generations(
        {
          ...same,
          dies: 1_000,
          program: Effect.gen(function*() {
            const session = yield* Session
            const { id } = yield* root()
            yield* Effect.fork(session.prompt(id, "one"))
            yield* Effect.sleep(100)
            yield* queue(id, "before")
            yield* Effect.sleep(100)
            yield* session.stop(id)
          })
        },
        {
          ...same,
          dies: 1_000,
          program: (id) =>
            Effect.gen(function*() {
              const session = yield* Session
              expect(yield* Effect.flatMap(SessionStorage, ({ unfinished }) => unfinished)).toEqual([])
              yield* session.resume(id)
              yield* session.untilIdle(id)
              expect(yield* readBy(id)).toEqual(["one"])
            })
        },
        {
          ...same,
          dies: { at, made: true },
          program: (id) => Session.prompt(id, "after", { after: "turn" })
        },
        {
          ...same,
          program: (id) => Effect.zipRight(sweep, Effect.map(readBy(id), (read) => readLater.add(read.join(", "))))
        }
      )
    }
    expect([...readLater]).toEqual(["one", "one, before, after"])
  })
})

describe("a prompt to a subagent whose task has ended", () => {
  it("is read after a crash at any commit, once", () => {
    const program = Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "delegate")
      const [child] = yield* childrenOf(id)
      yield* session.prompt(child!.id, "also this")
    })
    const found = (id: SessionID) =>
      Effect.flatMap(childrenOf(id), ([child]) => child === undefined ? Effect.succeed([]) : allRead(child.id))
    expect(atEachCommit(10, 30, program, found)).toEqual(["also this", "p"])
  })
})
