import { describe, expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Governor } from "@skein/core/Governor"
import type { SharedGate } from "@skein/core/RequestGate"
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { rootID, send as sendAt } from "./support/governed.ts"

const model = { limitKey: "p/m/key", info: { providerID: "p", modelID: "m" } }

/** A governor whose limit is shared, and requests that last until they are ended. */
const shared = (requests: number) =>
  Effect.gen(function*() {
    const governor = yield* Governor
    const gates: Array<SharedGate> = []
    let changes = 0
    governor.share({ added: (gate) => void gates.push(gate), changed: () => void changes++ })
    const gate = governor.requests(model)
    const [lent] = gates
    if (lent === undefined) return yield* Effect.dieMessage("The gate was not shared")
    const end = yield* Deferred.make<void>()
    let running = 0
    const send = (rootID: SessionID, most?: number) =>
      Effect.fork(
        sendAt(
          gate,
          { rootID, urgent: true, queued: () => {}, ...(most === undefined ? {} : { most }) },
          Effect.zipRight(Effect.sync(() => void running++), Deferred.await(end))
        )
      )
    const root = rootID("r")
    const settle = TestClock.adjust(0)
    return { gate, lent, root, send, settle, end, running: () => running, changes: () => changes, requests }
  })

const layer = (requests: number) => Governor.layer.pipe(Layer.provide(Config.layer({ limits: { requests } })))

const test = <A, E>(
  requests: number,
  body: (world: Effect.Effect.Success<ReturnType<typeof shared>>) => Effect.Effect<A, E>
) => Effect.scoped(Effect.provide(Effect.flatMap(shared(requests), body), layer(requests)))

describe("a gate whose limit is shared", () => {
  it.effect("sends nothing until it was lent a share, and then as much", () =>
    test(10, ({ changes, lent, root, running, send, settle }) =>
      Effect.gen(function*() {
        for (let count = 0; count < 6; count++) yield* send(root)
        yield* settle
        expect(running()).toBe(0)
        expect(changes()).toBe(6)
        expect(lent.demand()).toEqual({ limit: 10, held: 0, waiting: 6, roots: 1 })
        lent.lend(2, 1_000)
        yield* settle
        expect(running()).toBe(2)
        lent.lend(5, 1_000)
        yield* settle
        expect(running()).toBe(5)
        expect(lent.demand()).toEqual({ limit: 10, held: 5, waiting: 1, roots: 1 })
      })))

  it.effect("shows a request as queued only if its share is long in coming, or others of its process are ahead", () =>
    test(10, ({ gate, lent, root, settle }) =>
      Effect.gen(function*() {
        const shown: Array<string> = []
        const ask = (name: string) =>
          Effect.fork(sendAt(gate, {
            rootID: root,
            urgent: true,
            queued: (position) => void shown.push(`${name} ${position}`)
          }, Effect.never))
        yield* ask("soon")
        yield* TestClock.adjust("999 millis")
        lent.lend(1, 10_000)
        yield* TestClock.adjust("1 minute")
        expect(shown).toEqual([])
        yield* ask("behind it")
        yield* settle
        expect(shown).toEqual(["behind it 1"])
      })).pipe(Effect.zipRight(test(10, ({ gate, root }) =>
        Effect.gen(function*() {
          const shown: Array<number> = []
          yield* Effect.fork(
            sendAt(gate, { rootID: root, urgent: true, queued: (position) => void shown.push(position) }, Effect.never)
          )
          yield* TestClock.adjust("1 second")
          expect(shown).toEqual([1])
        })))))

  it.effect("begins nothing more once its share has lapsed, or is smaller than what runs", () =>
    test(10, ({ end, lent, root, running, send, settle }) =>
      Effect.gen(function*() {
        lent.lend(4, 1_000)
        for (let count = 0; count < 4; count++) yield* send(root)
        yield* settle
        expect(running()).toBe(4)
        lent.lend(1, 1_000)
        yield* send(root)
        yield* settle
        expect(running()).toBe(4)
        yield* TestClock.adjust(1_001)
        yield* Deferred.succeed(end, undefined)
        yield* settle
        expect(running()).toBe(4)
        lent.lend(1, 1_000)
        yield* settle
        expect(running()).toBe(5)
        expect(lent.demand()).toEqual({ limit: 10, held: 0, waiting: 0, roots: 0 })
      })))

  it.effect("divides the lower limit of a project as it divides its own", () =>
    test(12, ({ lent, root, running, send, settle }) =>
      Effect.gen(function*() {
        lent.lend(4, 1_000)
        for (let count = 0; count < 6; count++) yield* send(root, 6)
        yield* settle
        expect(running()).toBe(2)
      })))
})
