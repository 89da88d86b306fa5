import { describe, expect, it } from "@effect/vitest"
import { Governor } from "@skein/core/Governor"
import type { Slot } from "@skein/core/Slot"
import type { SessionID } from "@skein/domain/Id"
import { share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { governed, makeCalls, rootID, silent } from "./support/governed.ts"

/** A tree of agents: each works, makes calls that work or wait for children, and some are cut off. */
interface Node {
  readonly work: number
  readonly calls: ReadonlyArray<{ readonly work: number } | { readonly children: ReadonlyArray<Node> }>
  /** After how long its waiter gives up. */
  readonly timeout: number | undefined
  readonly enters: (typeof ways)[number]
}

/** How an agent gets its slot: with its work, or before it, in which case it may never work, or work already. */
const ways = ["works", "asks", "requests without working", "works meanwhile"] as const

const enter = <R>(slot: Slot, way: (typeof ways)[number], work: Effect.Effect<void, never, R>) =>
  way === "works" ? work : Effect.gen(function*() {
    const granted = yield* Deferred.make<void>()
    const { giveUp } = slot.first(() => Deferred.unsafeDone(granted, Effect.void))
    const waiting = Deferred.await(granted)
    const waited = way === "asks"
      ? Effect.zipRight(waiting, work)
      : way === "works meanwhile"
      ? Effect.zipRight(work, Effect.zipRight(waiting, work))
      : Effect.asVoid(Effect.timeoutOption(waiting, 5))
    yield* Effect.ensuring(waited, Effect.sync(giveUp))
  })

const ms = FastCheck.nat({ max: 50 })
const { node } = FastCheck.letrec<{ node: Node }>((tie) => ({
  node: FastCheck.record({
    work: ms,
    calls: FastCheck.array(
      FastCheck.oneof(
        { maxDepth: 3, withCrossShrink: true },
        FastCheck.record({ work: ms }),
        FastCheck.record({ children: FastCheck.array(tie("node"), { maxLength: 3 }) })
      ),
      { maxLength: 3 }
    ),
    timeout: FastCheck.option(FastCheck.nat({ max: 200 }), { nil: undefined, freq: 4 }),
    enters: FastCheck.constantFrom(...ways)
  })
}))

describe("any trees of agents under any limits", () => {
  it("never exceed a limit, all end, and leave no slot behind", () => {
    const scenario = FastCheck.record({
      seed: FastCheck.nat(),
      perRoot: FastCheck.integer({ min: 1, max: 3 }),
      perProcess: FastCheck.integer({ min: 1, max: 4 }),
      trees: FastCheck.array(node, { minLength: 1, maxLength: 4 })
    })
    FastCheck.assert(
      FastCheck.property(scenario, ({ perProcess, perRoot, seed, trees }) => {
        const atWork = new Map<SessionID, number>()

        const busy = (root: SessionID, duration: number) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              atWork.set(root, (atWork.get(root) ?? 0) + 1)
              const all = [...atWork.values()].reduce((a, b) => a + b, 0)
              if ((atWork.get(root) ?? 0) > perRoot || all > perProcess) throw new Error("too many at work")
            }),
            () => Effect.sleep(duration),
            () => Effect.sync(() => atWork.set(root, (atWork.get(root) ?? 0) - 1))
          )

        const run = (root: SessionID, { calls, enters, timeout, work }: Node): Effect.Effect<void, never, Governor> =>
          Effect.gen(function*() {
            const governor = yield* Governor
            const slot = governor.slot(root, silent)
            const together = makeCalls(slot, calls, (each, call) =>
              "children" in each
                ? call.waiting(
                  "others",
                  Effect.forEach(each.children, (child) => run(root, child), {
                    concurrency: "unbounded",
                    discard: true
                  })
                )
                : Effect.sleep(each.work))
            const all = enter(
              slot,
              enters,
              slot.work(busy(root, work).pipe(Effect.zipRight(together), Effect.zipRight(busy(root, 1))))
            )
            yield* timeout === undefined ? all : Effect.timeoutOption(all, timeout)
          })

        const program = Effect.gen(function*() {
          const governor = yield* Governor
          yield* Effect.forEach(trees, (tree, i) => run(rootID(i % 2), tree), { concurrency: "unbounded" })
          return yield* governor.load
        })
        const load = simulate(Effect.provide(program, governed(perRoot, perProcess)), { seed, maxSlice: 40 })
        expect(load).toMatchObject({ held: 0, waiting: 0, wanted: 0, roots: new Map() })
      }),
      { numRuns: share(150), seed: 7 }
    )
  }, 60_000)
})
