import { describe, expect, it } from "@effect/vitest"
import { type ByPrefix, earliest, Ids, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"

const prefixes: ReadonlyArray<keyof ByPrefix> = ["ses", "msg", "prt", "run", "per", "evt", "own"]
const body = (id: string) => id.slice(id.indexOf("_") + 1)

const ascending = (ids: ReadonlyArray<string>): boolean =>
  ids.every((id, i) => i === 0 || body(ids[i - 1] ?? "") < body(id))

describe("ids", () => {
  it.effect("ascend with any clock and any prefix", () =>
    Effect.gen(function*() {
      const ids = yield* Ids
      let seen = ""
      const moment = FastCheck.record({ now: FastCheck.nat(), prefix: FastCheck.constantFrom(...prefixes) })
      FastCheck.assert(FastCheck.property(FastCheck.array(moment, { minLength: 1, maxLength: 200 }), (moments) => {
        const made = moments.map(({ now, prefix }) => ids.unsafeMake(prefix, now))
        expect(ascending([seen, ...made])).toBe(true)
        seen = made.at(-1) ?? seen
      }))
    }).pipe(Effect.provide(Ids.layer)))

  it.effect("ascend for 100,000 in one millisecond", () =>
    Effect.gen(function*() {
      const ids = yield* Ids
      const made = Array.from({ length: 100_000 }, () => ids.unsafeMake("evt", 1_000))
      expect(ascending(made)).toBe(true)
      expect(new Set(made).size).toBe(made.length)
    }).pipe(Effect.provide(Ids.layer)))

  it.effect("ascend past the end of the counter of a millisecond", () =>
    Effect.gen(function*() {
      const ids = yield* Ids
      let last = ids.unsafeMake("evt", 5)
      for (let i = 0; i < 32 ** 4 + 10; i++) {
        const next = ids.unsafeMake("evt", 5)
        if (body(next) <= body(last)) expect(next).toBe(`greater than ${last}`)
        last = next
      }
      expect(body(ids.unsafeMake("evt", 6)) > body(last)).toBe(true)
    }).pipe(Effect.provide(Ids.layer)))

  it.effect("sort by the time of their creation", () =>
    Effect.gen(function*() {
      const ids = yield* Ids
      const first = yield* ids.make("msg")
      yield* TestClock.adjust("1 millis")
      const second = yield* ids.make("msg")
      yield* TestClock.adjust("400 days")
      const third = yield* ids.make("msg")
      expect([third, first, second].toSorted()).toEqual([first, second, third])
    }).pipe(Effect.provide(Ids.layer)))

  it.effect("are greater than an observed id of another process, whatever either clock says", () =>
    Effect.gen(function*() {
      const other = yield* Effect.provide(Ids, Ids.layer)
      const time = FastCheck.integer({ min: 0, max: 20 })
      const moments = FastCheck.array(FastCheck.tuple(time, time), { minLength: 1, maxLength: 20 })
      FastCheck.assert(FastCheck.property(moments, (all) => {
        const ids = Effect.runSync(Effect.provide(Ids, Ids.layer))
        for (const [theirs, ours] of all) {
          const found = other.unsafeMake("msg", theirs)
          ids.after(found)
          expect(ascending([found, ids.unsafeMake("prt", ours)])).toBe(true)
        }
      }))
    }))

  it.effect("can be compared with those of an earlier millisecond, however many were made in it", () =>
    Effect.gen(function*() {
      const ids = yield* Ids
      const before = Array.from({ length: 50 }, () => ids.unsafeMake("msg", 999))
      const after = ids.unsafeMake("msg", 1_000)
      const border = earliest("msg", 1_000)
      expect([...before, after].filter((id) => id < border)).toEqual(before)
    }).pipe(Effect.provide(Ids.layer)))

  it.effect("repeat with the same seed and clock", () => {
    const some = Effect.gen(function*() {
      const ids = yield* Ids
      return yield* Effect.forEach(
        prefixes,
        (prefix) => Effect.zipRight(TestClock.adjust("1 millis"), ids.make(prefix))
      )
    })
    const seeded = (seed: string) =>
      Effect.zipRight(TestClock.setTime(0), some).pipe(Effect.provide(Ids.layer), Effect.withRandom(Random.make(seed)))
    return Effect.gen(function*() {
      const made = yield* seeded("a")
      expect(yield* seeded("a")).toEqual(made)
      expect(yield* seeded("b")).not.toEqual(made)
    })
  })

  it("describe their format", () => {
    const decode = Schema.decodeUnknownEither(SessionID)
    expect(decode("ses_0123")).toMatchObject({ _tag: "Right" })
    for (const wrong of ["", "ses_", "msg_0123", "ses_A", "ses_01/../x", "4b5f7c1e-0000-4000-8000-000000000000", 7]) {
      expect(decode(wrong)).toMatchObject({ _tag: "Left" })
    }
    const left = decode("x")
    expect(left._tag === "Left" && left.left.message).toContain("an id that begins with ses_")
  })
})
