/** Proves that a prompt is answered if its sender goes away while it is being stored. */
import { expect, it } from "@effect/vitest"
import { beginPrompt } from "@skein/core/PersonPrompt"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { root } from "./support/tree.ts"

const isPrompt = (writes: ReadonlyArray<Write>) => writes.some((write) => write._tag === "Inbox")

/** Storage that reports when a prompt is about to be stored, and waits for the gate. */
const make = Effect.gen(function*() {
  const reached = yield* Deferred.make<void>()
  const gate = yield* Effect.makeLatch(false)
  const storage = Layer.map(SessionStorage.layerMemory, (context) => {
    const inner = Context.get(context, SessionStorage)
    return Context.make(SessionStorage, {
      ...inner,
      commit: (writes, onStored) => {
        const waits = Effect.zipRight(Deferred.succeed(reached, undefined), gate.await)
        return Effect.zipRight(isPrompt(writes) ? waits : Effect.void, inner.commit(writes, onStored))
      }
    })
  })
  return { gate, reached: Deferred.await(reached), storage }
})

it.scoped("a prompt whose sender goes away while it is being stored is answered, and its turn is not stopped", () =>
  Effect.gen(function*() {
    const { gate, reached, storage } = yield* make
    const script = Scripted.make({ build: [{ text: "Well" }] })
    yield* Effect.gen(function*() {
      const session = yield* Session
      const storing = yield* SessionStorage
      const { id } = yield* root()
      const scope = yield* Effect.scope
      const beginning = { id, rootID: id, prompt: { text: "Go" }, options: {}, unattended: undefined, scope }
      const sender = yield* Effect.fork(beginPrompt(beginning))
      yield* reached
      yield* Fiber.interruptFork(sender)
      yield* Effect.yieldNow()
      // A client that repeats the prompt must find it stored: the sender is not gone before that.
      expect((yield* Fiber.poll(sender))._tag).toBe("None")
      yield* gate.open
      yield* Fiber.await(sender)
      yield* TestClock.adjust("1 second")
      yield* session.untilIdle(id)
      expect((yield* storing.inbox(id)).rows).toEqual([])
      expect((yield* session.messages(id)).map(({ info }) => info.role)).toEqual(["user", "assistant"])
      expect((yield* session.get(id)).turn?.ended?.how).toBe("completed")
    }).pipe(Effect.provide(SkeinTest.layer(script, { storage })))
  }))
