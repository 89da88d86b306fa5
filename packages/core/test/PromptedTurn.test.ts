/** Proves that nobody who waits for a turn gets an outcome before the turn has ended. */
import { expect, it } from "@effect/vitest"
import { turnAnswering } from "@skein/core/PersonPrompt"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import { type Generation, generations } from "./support/generations.ts"
import { messagesOf, root } from "./support/tree.ts"

const same: Omit<Generation, "program"> = {
  options: { agents: [] },
  tools: (life) => [SkeinTest.tool("slow", () => life.alive(Effect.as(Effect.sleep(1_000), "slept")))],
  scripts: {
    build: ({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? "The whole answer."
        : { text: "Half an answer.", calls: [{ tool: "slow", input: {} }] }
  }
}

/** Begins a turn, and dies while its first step runs. */
const cutOff = {
  ...same,
  dies: 500,
  program: Effect.gen(function*() {
    const { id } = yield* root()
    yield* Session.prompt(id, "Go")
  })
}

/** Waits for the turn that another process has begun. */
const wait = (id: SessionID) =>
  Effect.flatMap(messagesOf(id), ([first]) => {
    if (first === undefined) throw new Error("There is no prompt")
    return turnAnswering(id, first.info.id)
  })

it("waits for a turn that another process has left until it continues, and then gives the whole answer", () => {
  generations(cutOff, {
    ...same,
    program: (id) =>
      Effect.gen(function*() {
        const waiting = yield* Effect.fork(wait(id))
        yield* Effect.sleep(5_000)
        yield* Effect.flatMap(Session, (session) => session.resume(id))
        expect(yield* Fiber.join(waiting)).toMatchObject({ text: "The whole answer.", end: "completed" })
      })
  })
})

it("says that a turn which nobody continues has not ended, and does not give what it had said so far", () => {
  generations(cutOff, {
    ...same,
    program: (id) =>
      Effect.gen(function*() {
        const answer = yield* Effect.either(wait(id))
        expect(Either.isLeft(answer) ? answer.left : answer.right).toMatchObject({
          _tag: "StorageError",
          reason: "held",
          message: expect.stringContaining("has not ended")
        })
      })
  })
})

it.each([false, true])(
  "says that a turn was stopped in the middle of its calls; followed by another turn: %s",
  (isFollowed) => {
    generations(cutOff, {
      ...same,
      scripts: {
        build: ({ messages }) =>
          messages.some(({ content, role }) => role === "user" && JSON.stringify(content).includes("Again"))
            ? "Another answer."
            : { text: "", calls: [{ tool: "slow", input: {} }] }
      },
      program: (id) =>
        Effect.gen(function*() {
          const session = yield* Session
          const waiting = yield* Effect.fork(Effect.flip(wait(id)))
          yield* session.resume(id)
          yield* Effect.sleep(500)
          yield* session.stop(id)
          if (isFollowed) yield* session.prompt(id, "Again")
          expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "SessionStopped" })
          expect(yield* Effect.flip(wait(id))).toMatchObject({ _tag: "SessionStopped" })
        })
    })
  }
)
