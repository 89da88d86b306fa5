import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { run, sharedBy, stack, words } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

it("a tree continues although another one that is recovered waits for the storage", () => {
  run((inner) =>
    Effect.gen(function*() {
      const answer = { text: "late", delay: { first: 60_000 } }
      const alive = yield* Effect.makeLatch(true)
      const first = yield* stack(Scripted.make({ build: [answer, answer] }), sharedBy(inner, alive))
      const slow = yield* Effect.provide(root(), first)
      const other = yield* Effect.provide(root(), first)
      const answered = yield* Effect.makeLatch(false)
      const second = yield* stack(
        Scripted.make({ build: ["mine", "mine"] }),
        Layer.succeed(SessionStorage, {
          ...inner,
          mail: Effect.succeed(undefined),
          runs: (filter) =>
            Effect.zipRight(filter.rootID === slow.id ? answered.await : Effect.void, inner.runs(filter))
        })
      )
      for (const { id } of [slow, other]) {
        yield* Effect.fork(Effect.exit(Effect.provide(Session.prompt(id, "Go"), first)))
      }
      yield* Effect.sleep(1_000)
      yield* alive.close
      const recovering = yield* Effect.fork(
        Effect.provide(Effect.flatMap(Session, (session) => session.resume(slow.id)), second)
      )
      yield* Effect.sleep(10_000)
      yield* Effect.provide(
        Effect.zipRight(
          Effect.flatMap(Session, (session) => session.resume(other.id)),
          Effect.flatMap(Session, (session) => session.untilIdle(other.id))
        ),
        second
      )
      expect(yield* Effect.provide(words(other.id), second)).toEqual(["Go", "mine"])
      expect(yield* Effect.provide(words(slow.id), second)).toEqual(["Go"])
      yield* answered.open
      yield* Fiber.join(recovering)
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.untilIdle(slow.id)), second)
      expect(yield* Effect.provide(words(slow.id), second)).toEqual(["Go", "mine"])
      yield* alive.open
    })
  )
})
