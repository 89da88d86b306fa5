/** Proves that a stop which cannot be stored is no success: the work would continue after a crash. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { makeRecordedStorage } from "./support/storage.ts"
import { root } from "./support/tree.ts"

it.effect("ends what runs, says that it is not stored, and is stored once the storage works", () => {
  const storage = makeRecordedStorage()
  const script = Scripted.make({ build: [{ text: "so far", hangs: true }] })
  return Effect.gen(function*() {
    const session = yield* Session
    const { unfinished } = yield* SessionStorage
    const { id } = yield* root()
    yield* Effect.fork(session.prompt(id, "Go"))
    yield* TestClock.adjust("1 second")
    expect(script.open.now).toBe(1)
    storage.failWhere(() => true)
    const error = yield* Effect.flip(session.stop(id))
    expect(error).toMatchObject({
      _tag: "StorageError",
      reason: "full",
      message: expect.stringMatching(/has ended, but the stop could not be stored: The disk is full\. Stop it again/)
    })
    expect([script.open.now, yield* unfinished]).toEqual([0, [id]])
    storage.failWhere(() => false)
    yield* session.stop(id)
    expect(yield* unfinished).toEqual([])
  }).pipe(Effect.provide(SkeinTest.layer(script, { storage: storage.layer })))
})
