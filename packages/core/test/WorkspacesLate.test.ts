/** Proves that news about a step that is kept late changes nothing else of the tree. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { type WorkspaceKeeper, Workspaces } from "@skein/core/Workspaces"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { run, sharedBy, stack, type Storage } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

const workspace = { remote: "https://git.example/b.git", inside: "" }

/** A keeper whose pushes end later. */
const pushing = () => {
  const pushes: Array<(failure: string | undefined) => Effect.Effect<void>> = []
  const none = () => Effect.die("not used")
  const service: WorkspaceKeeper = {
    origin: () => Effect.succeed(workspace),
    keep: (_, told) => Effect.sync(() => void pushes.push(told)),
    fetch: none,
    claim: none,
    discard: none,
    forget: () => Effect.void,
    settled: Effect.void
  }
  return { pushes, workspaces: Layer.succeed(Workspaces, service) }
}

/** The first process has a push under way when the second one prompts the same tree. */
const two = (inner: Storage) =>
  Effect.gen(function*() {
    const { pushes, workspaces } = pushing()
    const first = yield* stack(Scripted.make({ build: ["one", "three"] }), sharedBy(inner), { workspaces })
    const second = yield* stack(Scripted.make({ build: ["two"] }), sharedBy(inner), {
      workspaces: pushing().workspaces
    })
    const { id } = yield* Effect.provide(root(), first)
    const [here, there] = [yield* Effect.provide(Session, first), yield* Effect.provide(Session, second)]
    const stored = Effect.map(inner.session(id), Option.getOrThrow)
    return { id, here, there, stored, told: () => pushes[0]?.("the push was refused") ?? Effect.void }
  })

describe("a push that fails late", () => {
  it("is noted at the root as it is now, if the tree was elsewhere meanwhile", () => {
    run((inner) =>
      Effect.gen(function*() {
        const { here, id, stored, there, told } = yield* two(inner)
        yield* here.prompt(id, "1")
        yield* there.prompt(id, "2")
        yield* here.prompt(id, "3")
        const before = yield* stored
        yield* told()
        expect(yield* stored).toEqual({ ...before, workspace: { ...workspace, failure: "the push was refused" } })
      })
    )
  })

  it("is not noted at another process, to which the tree was handed over", () => {
    run((inner) =>
      Effect.gen(function*() {
        const { here, id, stored, there, told } = yield* two(inner)
        yield* here.prompt(id, "1")
        yield* here.leave(id)
        yield* there.prompt(id, "2")
        const before = yield* stored
        yield* told()
        expect(yield* stored).toEqual(before)
      })
    )
  })

  it("does not bring a deleted session back", () => {
    run((inner) =>
      Effect.gen(function*() {
        const { here, id, told } = yield* two(inner)
        yield* here.prompt(id, "1")
        yield* here.remove(id)
        yield* told()
        expect(Option.isNone(yield* inner.session(id))).toBe(true)
      })
    )
  })
})
