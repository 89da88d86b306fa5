/** Shared parts of the governor tests: limits, roots, and agents that record their work. */
import { Config } from "@skein/core/Config"
import { Governor } from "@skein/core/Governor"
import type { RequestGate, Sender } from "@skein/core/RequestGate"
import type { Slot, SlotNews } from "@skein/core/Slot"
import type { PartID, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Call, SessionCalls } from "../../src/internal/governor/SessionCalls.ts"

/** A governor with these limits, per root and for the process. */
export const governed = (concurrency: number, process_concurrency = 64) =>
  Governor.layer.pipe(Layer.provide(Config.layer({ limits: { concurrency, process_concurrency } })))

/** The root of this name. */
export const rootID = (name: string | number) => `ses_${name}` as SessionID
/** Ignores the progress of a slot. */
export const silent: SlotNews = { queued: () => Effect.void, granted: Effect.void }

/** Nothing depends on these calls. */
export const unwatched = {
  asks: () => {},
  rests: () => {},
  now: () => 0,
  settled: () => 0,
  awaitsTask: () => false,
  waited: () => {}
}

/** Makes calls with a slot, as a session does. */
export const makeCalls = <I, A, E, R>(
  slot: Slot,
  inputs: ReadonlyArray<I>,
  body: (input: I, call: Call) => Effect.Effect<A, E, R>
): Effect.Effect<Array<A>, E, R> =>
  Effect.suspend(() => {
    const calls = new SessionCalls({ ...unwatched, slot: () => slot })
    return calls.make(
      inputs.map((_, at) => calls.take(`prt_${at}` as PartID, false, true)),
      (call, at, restore) =>
        restore(Effect.zipRight(
          call.enter("start"),
          Effect.suspend(() => {
            call.change("begin")
            return body(inputs[at] as I, call)
          })
        ))
    )
  })

/** Agents that record when they begin and end their work. */
export const makeNotes = () => {
  const notes: Array<string> = []
  const note = (words: string) => Effect.sync(() => void notes.push(words))
  const agent = Effect.fnUntraced(
    function*(name: string, root = "r", queued: SlotNews["queued"] = silent.queued) {
      const governor = yield* Governor
      const work = Effect.zipRight(note(`${name} begins`), Effect.zipRight(Effect.sleep(100), note(`${name} ends`)))
      yield* governor.slot(rootID(root), { ...silent, queued }).work(work)
    }
  )
  return { notes, note, agent }
}

/** Sends a request through a gate: once there is room, and with its place until it has ended. */
export const send = <A, E, R>(gate: RequestGate, sender: Sender, request: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => gate.enter(sender)),
    ({ granted }) => granted === undefined ? request : Effect.zipRight(granted, request),
    ({ leave }) => Effect.sync(leave)
  )
