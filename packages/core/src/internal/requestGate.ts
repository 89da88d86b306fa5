/** Owns what may be sent to a model at once: so many requests, and none while the provider asked for a pause. */
import type { SessionID } from "@skein/domain/Id"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import * as Random from "effect/Random"
import type { RequestGate, Sender } from "../Governor.ts"
import { makeFairQueue } from "./fairQueue.ts"

/** In about what time after a pause all places are filled again, in milliseconds: a crowd does not come back at once. */
const spread = 1_000

interface Ticket {
  readonly rootID: SessionID
  state: "new" | "waits" | "sent"
  granted: Deferred.Deferred<void> | undefined
}

/** Makes the gate of one rate limit; `fork` runs what opens it again. */
export const makeRequestGate = (
  limit: number,
  clock: Clock.Clock,
  fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
): RequestGate => {
  const urgent = makeFairQueue<Ticket>()
  const later = makeFairQueue<Ticket>()
  let sent = 0
  let closed = false
  let opens = 0
  let opening: Fiber.RuntimeFiber<void> | undefined

  const waiting = () => urgent.size() + later.size()
  const closedFor = () => closed ? Math.max(0, opens - clock.unsafeCurrentTimeMillis()) : 0

  const grantNext = (): boolean => {
    if (closed || sent >= limit) return false
    const ticket = urgent.take() ?? later.take()
    if (ticket?.granted === undefined) return false
    sent++
    ticket.state = "sent"
    Deferred.unsafeDone(ticket.granted, Effect.void)
    return true
  }

  /** Ends when nobody waits or all places are taken; from then on whoever leaves makes room for the next one. */
  const open: Effect.Effect<void> = Effect.suspend(() => {
    const left = closedFor()
    if (left > 0) return Effect.zipRight(Effect.sleep(left), open)
    closed = false
    if (grantNext()) {
      return Effect.flatMap(
        Random.next,
        (chance) => Effect.zipRight(Effect.sleep(Math.ceil(chance * 2 * spread / limit)), open)
      )
    }
    opening = undefined
    return Effect.void
  })

  const hold = (duration: number) => {
    if (duration <= 0) return
    opens = Math.max(opens, clock.unsafeCurrentTimeMillis() + duration)
    closed = true
    opening ??= fork(open)
  }

  const enter = (ticket: Ticket): boolean => {
    if (closed && closedFor() === 0) closed = false
    if (closed || sent >= limit || waiting() > 0) return false
    sent++
    ticket.state = "sent"
    return true
  }

  const leave = (ticket: Ticket) => {
    if (ticket.state === "sent") {
      sent--
      grantNext()
    } else if (ticket.state === "waits" && !urgent.remove(ticket)) later.remove(ticket)
  }

  const wait = (ticket: Ticket, sender: Sender): Effect.Effect<void> => {
    const granted = ticket.granted = Deferred.unsafeMake<void>(noFiber)
    ticket.state = "waits"
    const queue = sender.urgent ? urgent : later
    queue.add(ticket)
    const before = sender.urgent ? 0 : urgent.size()
    return Effect.zipRight(sender.queued(before + queue.position(ticket)), Deferred.await(granted))
  }

  return {
    send: (sender, request) =>
      Effect.suspend(() => {
        const ticket: Ticket = { rootID: sender.rootID, state: "new", granted: undefined }
        return Effect.ensuring(
          Effect.suspend(() => enter(ticket) ? request : Effect.zipRight(wait(ticket, sender), request)),
          Effect.sync(() => leave(ticket))
        )
      }),
    hold,
    closedFor,
    load: () => ({ held: sent, waiting: waiting() })
  }
}
