import { describe, expect, it } from "@effect/vitest"
import { Skill } from "@skein/core/Instructions"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { settableClock } from "./support/wallClock.ts"

const hour = 3_600_000

describe("the skills of a directory", () => {
  it.effect.each([["back", -hour], ["forward", hour]] as const)(
    "are looked up again after half a minute, even if the wall clock is set %s meanwhile",
    ([, by]) =>
      Effect.gen(function*() {
        const { clock, jump } = yield* settableClock
        const looked: Array<string> = []
        const source = (directory: string) =>
          Effect.sync(() => {
            looked.push(directory)
            return { skills: [], broken: [] }
          })
        yield* Effect.gen(function*() {
          const skills = yield* Skill
          const list = (directory: string) => Effect.withClock(skills.list(directory), clock)
          yield* Effect.all([list("/a"), list("/a"), list("/b")], { concurrency: "unbounded" })
          jump(by)
          yield* TestClock.adjust("29 seconds")
          yield* list("/a")
          expect(looked.toSorted()).toEqual(["/a", "/b"])
          yield* TestClock.adjust("1 second")
          yield* Effect.all([list("/a"), list("/a")], { concurrency: "unbounded" })
          expect(looked.toSorted()).toEqual(["/a", "/a", "/b"])
          yield* list("/a")
          expect(looked).toHaveLength(3)
        }).pipe(Effect.provide(Skill.layer(source)))
      })
  )
})
