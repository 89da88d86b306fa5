/** Proves that a tree can be read where it was not last held, in any order, and by several readers at once. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import { slowed } from "./support/mortal.ts"
import { run, sharedBy, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

it.each([1, 2, 5])("by %i readers, each of which reads the root before its child sessions", (readers) => {
  run((inner) =>
    Effect.gen(function*() {
      const first = yield* stack(Scripted.make({}), sharedBy(inner))
      const { id } = yield* Effect.provide(root(), first)
      const here = yield* Effect.provide(Session, first)
      const children = yield* Effect.forEach(
        ["one", "two", "three"],
        (title) => here.createChild(id, { agent: "worker", title, permission: [] })
      )
      yield* Effect.sleep(1_000)
      const second = yield* stack(Scripted.make({}), slowed(sharedBy(inner), { answers: 3 }))
      const there = yield* Effect.provide(Session, second)
      const ids = [id, ...children.map((child) => child.id)]
      const reading = Effect.forEach(Array.from({ length: readers }), (_, n) =>
        Effect.forEach([0, 1, 2], (time) =>
          Effect.zipRight(
            Effect.sleep(n + time),
            Effect.forEach(ids, (each) =>
              there.get(each))
          )), {
        concurrency: "unbounded"
      })
      const found = yield* Effect.timeoutOption(reading, 10_000)
      expect(found).toMatchObject({ _tag: "Some" })
    })
  )
})
