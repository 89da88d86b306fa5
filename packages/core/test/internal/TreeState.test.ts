/** Runs random events on a tree and on a model that knows every holder by name, and compares them after each. */
import { expect, it } from "@effect/vitest"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { next, type TreeState, unknown } from "../../src/internal/leases/TreeState.ts"
import type { Lease } from "../../src/Lease.ts"
import { steadyTime, wallTime } from "../../src/MonotonicClock.ts"
import { heldByAnother } from "../../src/StorageError.ts"

const rootID = SessionID.make("ses_a")
const error = heldByAnother("hold", { rootID })
const at = Effect.runSync(
  Effect.clockWith((clock) => Effect.succeed({ steady: steadyTime(clock), wall: wallTime(clock) }))
)

/** What a process does with a tree, told by who does it. */
class Model {
  lease: Lease | undefined
  epoch = 0
  /** Each that uses the tree, with the lease under which it began. */
  readonly holders: Array<Lease> = []
  isAcquiring = false
  releasing: Lease | undefined
  /** Lost leases of which memory is not forgotten yet, or whose holders have not ended. */
  lost: Lease | undefined
  isForgotten = false
  known: number | undefined

  get tag(): TreeState["_tag"] {
    if (this.lease !== undefined) return "Held"
    if (this.releasing !== undefined) return "Leaving"
    if (this.lost !== undefined && (!this.isForgotten || this.holders.includes(this.lost))) return "Lost"
    return this.isAcquiring ? "Acquiring" : "Free"
  }
}

interface Real {
  state: TreeState
}

const command = (
  name: string,
  run: (model: Model, real: Real) => void,
  check: (model: Model) => boolean = () => true
): FastCheck.Command<Model, Real> => ({
  check,
  run: (model, real) => {
    run(model, real)
    expect(real.state._tag, name).toBe(model.tag)
    const { state } = real
    if (state._tag === "Held" || state._tag === "Lost") {
      expect(state.users, name).toBe(model.holders.filter((lease) => lease === state.lease).length)
    }
    if (state._tag === "Free" || state._tag === "Acquiring") {
      expect(state.known, name).toBe(model.known)
      // Nobody who began under an earlier lease may see the tree acquired again.
      expect(model.holders, name).toEqual([])
    }
  },
  toString: () => name
})

const commands = [
  command("want", (model, real) => {
    if (model.tag === "Free") model.isAcquiring = true
    real.state = next(real.state, { _tag: "Wanted", over: Effect.unsafeMakeLatch() })
  }),
  command("give up", (model, real) => {
    model.isAcquiring = false
    real.state = next(real.state, { _tag: "GivenUp" })
  }),
  command("acquire", (model, real) => {
    const lease = { rootID, owner: "a", epoch: model.epoch + 1 }
    if (model.tag === "Free" || model.tag === "Acquiring") {
      model.lease = lease
      model.epoch++
      model.isAcquiring = false
      model.lost = undefined
    }
    real.state = next(real.state, { _tag: "Acquired", taken: { lease, renewed: at } })
  }),
  command("use", (model, real) => {
    if (model.lease !== undefined) model.holders.push(model.lease)
    real.state = next(real.state, { _tag: "Used" })
  }),
  command("end", (model, real) => {
    const lease = model.holders.shift()
    if (lease === undefined) return
    const wasLost = model.tag === "Lost" || model.lost === lease
    real.state = next(real.state, { _tag: "Unused", lease })
    if (wasLost && model.tag === "Free") model.known = undefined
  }),
  command("release if idle", (model, real) => {
    const lease = model.lease ?? { rootID, owner: "a", epoch: 0 }
    if (model.lease !== undefined && model.holders.length === 0) {
      model.releasing = lease
      model.lease = undefined
    }
    real.state = next(real.state, { _tag: "Idle", lease, over: Effect.unsafeMakeLatch() })
  }),
  command("released", (model, real) => {
    if (model.releasing !== undefined) model.known = model.releasing.epoch
    model.releasing = undefined
    real.state = next(real.state, { _tag: "Released" })
  }),
  command("lose", (model, real) => {
    const lease = model.lease ?? { rootID, owner: "a", epoch: 0 }
    if (model.lease !== undefined) {
      model.lost = lease
      model.isForgotten = false
      model.lease = undefined
      model.known = undefined
    }
    real.state = next(real.state, { _tag: "Lost", lease, error })
  }),
  command("forgotten", (model, real) => {
    if (model.lost !== undefined) model.isForgotten = true
    real.state = next(real.state, { _tag: "Ended" })
  }),
  command("root leaves memory", (model, real) => {
    if (model.tag === "Free" || model.tag === "Acquiring") model.known = undefined
    real.state = next(real.state, { _tag: "Forgotten" })
  })
]

it("a tree is acquired only when nobody is left who used it under an earlier lease", () => {
  FastCheck.assert(
    FastCheck.property(
      FastCheck.commands(commands.map((each) => FastCheck.constant(each)), { maxCommands: 60 }),
      (all) => {
        FastCheck.modelRun(() => ({ model: new Model(), real: { state: unknown as TreeState } }), all)
      }
    ),
    { numRuns: 2_000 }
  )
})
