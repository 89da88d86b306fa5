import { expect, it } from "@effect/vitest"
import { Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Workspaces } from "@skein/core/Workspaces"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { makeMoves } from "../../src/internal/moves.ts"

/** Each fetch makes a workspace of its own, and takes a second longer than the one before. */
const keeper = () => {
  let fetches = 0
  return Layer.succeed(Workspaces, {
    origin: () => Effect.succeed(undefined),
    keep: () => Effect.void,
    fetch: () =>
      Effect.suspend(() => {
        const top = `/moved/${++fetches}`
        return Effect.as(Effect.sleep(fetches * 1_000), {
          directory: top,
          top,
          epoch: 1,
          seq: 1,
          commit: "c",
          omits: []
        })
      }),
    claim: () => Effect.void,
    discard: () => Effect.void,
    forget: () => Effect.void,
    settled: Effect.void
  })
}

const owner = Layer.succeed(Owner, {
  id: "beta:7:1:boot.4:x",
  isGone: () => Effect.succeed(true),
  evict: () => Effect.succeed(true)
})

it.effect("a tree that was moved here works on, although a second request wanted to move it too", () => {
  const workspaces = keeper()
  const script = Scripted.make({ build: [{ text: "the end", delay: { first: 60_000 } }] })
  return Effect.gen(function*() {
    const session = yield* Session
    const storage = yield* SessionStorage
    const info = yield* session.create({ directory: "/work", agent: "build", title: "Test" })
    yield* session.leave(info.id)
    const stored = { ...info, host: "alpha", workspace: { remote: "origin", inside: "" } }
    yield* storage.commit([{ _tag: "Session", info: stored, isNew: true }])
    const move = yield* makeMoves
    const moving = yield* Effect.fork(Effect.all([move(info.id), Effect.either(move(info.id))], { concurrency: 2 }))
    yield* TestClock.adjust("1500 millis")
    const turn = yield* Effect.fork(Effect.either(session.prompt(info.id, "Go")))
    yield* TestClock.adjust("1 second")
    const [, second] = yield* Fiber.join(moving)
    expect(second).toMatchObject({ _tag: "Left", left: { reason: "superseded" } })
    yield* TestClock.adjust("2 minutes")
    expect(yield* Fiber.join(turn)).toMatchObject({ _tag: "Right", right: { text: "the end" } })
    expect(Option.getOrThrow(yield* storage.session(info.id))).toMatchObject({ directory: "/moved/1", host: "beta" })
  }).pipe(Effect.provide(SkeinTest.layer(script, { workspaces, owner })), Effect.provide(workspaces))
})
