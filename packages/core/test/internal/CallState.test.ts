import { describe, expect, it } from "@effect/vitest"
import type { PartID } from "@skein/domain/Id"
import { share } from "@skein/testing/Seeds"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { type CallEvent, hasPlace } from "../../src/internal/governor/CallState.ts"
import { type Call, SessionCalls } from "../../src/internal/governor/SessionCalls.ts"
import type { Slot } from "../../src/Slot.ts"
import { unwatched } from "../support/governed.ts"

/** A call as simply as it can be written down: what happened to it, in order. */
interface Simple {
  /** How far it has come. */
  phase: "noted" | "deciding" | "permitted" | "placed" | "begun" | "found" | "over"
  /** What it waits for now, each as often as it does. */
  waits: Array<"person" | "others" | "barrier" | "run">
  /** Whether it waits for others from its start. */
  patient: boolean
  /** Whether another process may have begun it. */
  inherited: boolean
  /** Whether it asked to start, and gets a place later. */
  queued: boolean
}

const makes = ({ phase }: Simple): boolean => phase !== "noted" && phase !== "over"
const works = (call: Simple): boolean =>
  makes(call) && call.waits.length === 0 && !(call.patient && call.phase === "placed")
const placed = (call: Simple): boolean => works(call) && (call.phase === "placed" || call.phase === "begun")
const unbegun = ({ inherited, phase }: Simple): boolean =>
  !inherited && (phase === "noted" || phase === "permitted" || phase === "placed")

interface Model {
  readonly calls: Map<PartID, Simple>
  places: number
}

interface Real {
  readonly session: SessionCalls
  readonly calls: Map<PartID, Call>
  holds: boolean
  asking: number
}

const count = (model: Model, is: (call: Simple) => boolean): number => [...model.calls.values()].filter(is).length

/** Places go to those that wait for them, first come first served. */
const grant = (model: Model) => {
  for (const call of model.calls.values()) {
    if (!call.queued || count(model, placed) >= model.places) continue
    call.queued = false
    if (call.phase === "permitted") call.phase = "placed"
    else call.waits.pop()
  }
}

const check = (model: Model, real: Real) => {
  expect(real.session.size).toBe(count(model, makes))
  expect(real.session.allWait).toBe(count(model, makes) > 0 && count(model, works) === 0)
  expect(real.session.allParked).toBe(
    [...model.calls.values()].every((call) => !makes(call) || call.waits.includes("run"))
  )
  expect(real.asking).toBe(count(model, ({ waits }) => waits.includes("person")))
  expect(count(model, placed)).toBeLessThanOrEqual(model.places)
  if (count(model, makes) > 0) expect(real.holds).toBe(count(model, works) > 0)
  for (const [id, call] of model.calls) {
    expect(real.session.isUnbegun(id)).toBe(unbegun(call))
    const { state } = real.calls.get(id) ?? {}
    if (state !== undefined) expect(hasPlace(state)).toBe(placed(call))
  }
}

type Command = FastCheck.Command<Model, Real>

const command = (
  name: string,
  id: PartID,
  may: (call: Simple | undefined) => boolean,
  change: (call: Simple, model: Model) => void,
  run: (real: Real, call: Call) => void
): Command => ({
  check: (model) => may(model.calls.get(id)),
  run: (model, real) => {
    const simple = model.calls.get(id)
    const call = real.calls.get(id)
    if (simple !== undefined) change(simple, model)
    if (call !== undefined) run(real, call)
    grant(model)
    check(model, real)
  },
  toString: () => `${name} ${id}`
})

const enter = (event: CallEvent) => (_: Real, call: Call) => {
  Effect.runFork(call.enter(event))
}
const change = (event: CallEvent) => (_: Real, call: Call) => {
  call.change(event)
}
const is = (...phases: ReadonlyArray<Simple["phase"]>) => (call: Simple | undefined): boolean =>
  call !== undefined && !call.queued && phases.includes(call.phase)
const drop = (call: Simple, what: Simple["waits"][number]) => {
  call.waits.splice(call.waits.indexOf(what), 1)
}

/** Puts the call at the end of those that wait for a place, if it needs one and none is free. */
const orQueue = (call: Simple, model: Model, next: () => void, undo: () => void) => {
  next()
  if (!placed(call) || count(model, placed) <= model.places) return
  undo()
  call.queued = true
  const [[id] = []] = [...model.calls].filter(([, each]) => each === call)
  if (id === undefined) return
  model.calls.delete(id)
  model.calls.set(id, call)
}

const commandsOf = (id: PartID): ReadonlyArray<Command> => [
  {
    check: (model) => !model.calls.has(id),
    run: (model, real) => {
      model.calls.set(id, { phase: "noted", waits: [], patient: false, inherited: false, queued: false })
      real.session.note(id, undefined)
      check(model, real)
    },
    toString: () => `note ${id}`
  },
  ...[false, true].map((isRunning): Command => ({
    check: (model) => !model.calls.has(id) || (!isRunning && model.calls.get(id)?.phase === "noted"),
    run: (model, real) => {
      const known = model.calls.get(id)
      const phase = known !== undefined || isRunning ? "permitted" : "deciding"
      const inherited = known?.inherited ?? isRunning
      model.calls.set(id, { phase, waits: [], patient: false, inherited, queued: false })
      real.calls.set(id, real.session.take(id, isRunning, isRunning))
      real.holds = true
      check(model, real)
    },
    toString: () => `take ${isRunning ? "running" : "new"} ${id}`
  })),
  command("permit", id, (call) => is("deciding")(call) && call?.waits.length === 0, (call) => {
    call.phase = "permitted"
  }, change("permit")),
  command("start", id, is("permitted"), (call, model) => {
    call.patient = false
    orQueue(call, model, () => call.phase = "placed", () => call.phase = "permitted")
  }, enter("start")),
  command("start to wait", id, is("permitted"), (call) => {
    call.phase = "placed"
    call.patient = true
  }, enter("startWaiting")),
  command("hold and release", id, (call) => is("placed")(call) && call?.waits.length === 0, (call) => {
    call.phase = "permitted"
    call.waits = []
  }, (real, call) => {
    call.change("hold")
    // While it is held, it waits.
    expect(call.isUnbegun).toBe(real.session.isUnbegun(id))
    call.change("release")
    real.holds = true
  }),
  command("begin", id, (call) => is("placed")(call), (call) => {
    call.phase = "begun"
    if (call.patient) call.waits.push("others")
  }, change("begin")),
  ...(["person", "others"] as const).flatMap((what): ReadonlyArray<Command> => [
    command(`wait for ${what}`, id, (call) =>
      (is("begun")(call) && call?.waits.includes("run") === false)
      || (what === "person" && is("deciding")(call) && call?.waits.length === 0), (call) => {
      call.waits.push(what)
    }, change(what === "person" ? "ask" : "wait")),
    command(
      `${what} has answered`,
      id,
      (call) => call?.queued === false && call.waits.includes(what),
      (call, model) => {
        orQueue(call, model, () => drop(call, what), () => call.waits.push(what))
      },
      enter(what === "person" ? "answer" : "continue")
    )
  ]),
  command("park", id, (call) => is("begun")(call) && call?.waits.includes("run") === false, (call) => {
    call.waits = ["run"]
  }, change("park")),
  command("end", id, is("begun", "deciding", "permitted", "placed"), (call) => {
    call.phase = "found"
    call.waits = []
    call.patient = false
  }, enter("end")),
  command("close", id, (call) => call !== undefined && !call.queued && makes(call), (call, model) => {
    call.waits = []
    call.patient = false
    call.phase = is("permitted", "placed")(call) ? "noted" : "over"
    if (call.phase === "over") model.calls.delete(id)
  }, change("close")),
  {
    check: () => true,
    run: (model, real) => {
      for (const [key, call] of model.calls) if (call.phase === "noted") model.calls.delete(key)
      real.session.forget()
      check(model, real)
    },
    toString: () => "forget"
  }
]

describe("the calls of a session", () => {
  it("agree with a simple model: slot, clocks, places, and what may be handed over", () => {
    const ids = ["prt_a", "prt_b", "prt_c"] as ReadonlyArray<string> as ReadonlyArray<PartID>
    const commands = ids.flatMap(commandsOf)
    const choices = FastCheck.array(FastCheck.nat(), { minLength: 20, maxLength: 120, size: "max" })
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 1, max: 3 }), choices, (places, all) => {
        const real: Real = { holds: true, asking: 0, calls: new Map(), session: undefined as never }
        const slot = {
          isHeld: () => real.holds,
          give: () => real.holds = false,
          hold: Effect.sync(() => real.holds = true)
        } as unknown as Slot
        const session = new SessionCalls({
          ...unwatched,
          slot: () => slot,
          asks: (isAsking) => real.asking += isAsking ? 1 : -1
        })
        session.limit(places)
        Object.assign(real, { session })
        const model: Model = { calls: new Map(), places }
        const done: Array<string> = []
        for (const choice of all) {
          const possible = commands.filter((each) => each.check(model))
          const next = possible[choice % possible.length] as Command
          done.push(next.toString())
          try {
            next.run(model, real)
          } catch (error) {
            throw new Error(done.join(", "), { cause: error })
          }
        }
      }),
      { numRuns: share(1_000), seed: 11 }
    )
  })
})
