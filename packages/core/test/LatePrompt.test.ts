/** Proves that a prompt whose hooks take long changes nothing in a tree that was lost, or deleted, meanwhile. */
import { expect, it } from "@effect/vitest"
import { on } from "@skein/core/Hooks"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { makeOutages } from "./support/outages.ts"
import { run, sharedBy, stack, words } from "./support/sharedStorage.ts"

const slow = on(
  "UserPromptSubmit",
  ({ prompt }) => Effect.as(prompt === "late" ? Effect.sleep(60_000) : Effect.void, undefined)
)

const hooks = { hooks: [slow] }

/** Its first prompt names it. */
const unnamed = Session.create({ directory: "/work", agent: "build" })

it("to another process", () => {
  run((inner) =>
    Effect.gen(function*() {
      const latch = yield* Effect.makeLatch(true)
      const first = yield* stack(Scripted.make({ build: ["late answer"] }), sharedBy(inner, latch), hooks)
      const second = yield* stack(Scripted.make({ build: ["the end"] }), sharedBy(inner), hooks)
      const { id } = yield* Effect.provide(unnamed, first)
      const [here, there] = [yield* Effect.provide(Session, first), yield* Effect.provide(Session, second)]
      const late = yield* Effect.fork(Effect.flip(here.prompt(id, "late")))
      yield* Effect.sleep(4_000)
      yield* latch.close
      expect((yield* there.prompt(id, "early")).text).toBe("the end")
      yield* Effect.sleep(10_000)
      yield* latch.open
      const before = yield* inner.session(id)
      expect(yield* late).toMatchObject({ _tag: "StorageError", reason: "held" })
      yield* Effect.sleep(10_000)
      expect(yield* inner.session(id)).toEqual(before)
      expect((yield* inner.inbox(id)).rows).toEqual([])
      expect(yield* Effect.provide(words(id), second)).toEqual(["early", "the end"])
    })
  )
})

it("and that this process has again since", () => {
  run((inner) =>
    Effect.gen(function*() {
      const outages = makeOutages(inner)
      const services = yield* stack(
        Scripted.make({ build: ["early answer", { text: "the end", delay: { first: 60_000 } }, "more"] }),
        outages.layer,
        hooks
      )
      const { id } = yield* Effect.provide(unnamed, services)
      const session = yield* Effect.provide(Session, services)
      const late = yield* Effect.fork(Effect.flip(session.prompt(id, "late")))
      yield* Effect.sleep(4_000)
      yield* outages.begin("all", 35_000)
      yield* Effect.sleep(2_000)
      yield* session.prompt(id, "early")
      const long = yield* Effect.fork(session.prompt(id, "long"))
      expect(yield* late).toMatchObject({ _tag: "StorageError", reason: "busy" })
      expect((yield* session.get(id)).title).not.toBe("late")
      yield* long
      expect((yield* inner.inbox(id)).rows).toEqual([])
      expect(yield* Effect.provide(words(id), services)).toEqual(["early", "early answer", "long", "the end"])
    })
  )
})

it("by its deletion", () => {
  run((inner) =>
    Effect.gen(function*() {
      const services = yield* stack(Scripted.make({ build: ["late answer"] }), sharedBy(inner), hooks)
      const { id } = yield* Effect.provide(unnamed, services)
      const session = yield* Effect.provide(Session, services)
      const late = yield* Effect.fork(Effect.flip(session.prompt(id, "late")))
      yield* Effect.sleep(4_000)
      yield* session.remove(id)
      expect(yield* late).toMatchObject({ _tag: "SessionNotFound" })
      expect(Option.isNone(yield* inner.session(id))).toBe(true)
    })
  )
})
