/** Owns what may be sent to a model at once: so many requests, and none while the provider asked for a pause. */
import type { SessionID } from "@skein/domain/Id"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import * as Random from "effect/Random"
import { changeRequests, countWait } from "../../Metrics.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { RequestGate } from "../../RequestGate.ts"
import { makeFairQueue } from "./fairQueue.ts"

/** In about what time after a pause all places are filled again, in milliseconds: a crowd does not come back at once. */
const spread = 1_000

/** One that waits, and may be sent when it is granted. */
interface Ticket {
  readonly rootID: SessionID
  readonly granted: Deferred.Deferred<void>
  readonly since: number
}

/** Makes the gate of one rate limit; `fork` runs what opens it again. */
export const makeRequestGate = (
  limit: number,
  clock: Clock.Clock,
  fork: (effect: Effect.Effect<void>) => void
): RequestGate => {
  const urgent = makeFairQueue<Ticket>()
  const later = makeFairQueue<Ticket>()
  let sent = 0
  let closed = false
  let opens = 0
  let isOpening = false

  const waiting = () => urgent.size() + later.size()
  const closedFor = () => closed ? Math.max(0, opens - elapsed(clock)) : 0

  const grantNext = (): boolean => {
    if (closed || sent >= limit) return false
    const ticket = urgent.take() ?? later.take()
    if (ticket === undefined) return false
    sent++
    changeRequests("waiting", -1)
    changeRequests("sent", 1)
    countWait(elapsed(clock) - ticket.since)
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
    isOpening = false
    return Effect.void
  })

  const hold = (duration: number) => {
    if (duration <= 0) return
    opens = Math.max(opens, elapsed(clock) + duration)
    closed = true
    if (isOpening) return
    // Set before the fork: a pause that is over by then ends within it.
    isOpening = true
    fork(open)
  }

  const enter = (): boolean => {
    if (closed && closedFor() === 0) closed = false
    if (closed || sent >= limit || waiting() > 0) return false
    sent++
    changeRequests("sent", 1)
    return true
  }

  const leave = () => {
    sent--
    changeRequests("sent", -1)
    grantNext()
  }

  const send: RequestGate["send"] = (sender, request) =>
    Effect.uninterruptibleMask((restore) => {
      if (enter()) {
        return Effect.flatMap(Effect.exit(restore(request)), (exit) => {
          leave()
          return exit
        })
      }
      const ticket: Ticket = {
        rootID: sender.rootID,
        granted: Deferred.unsafeMake(noFiber),
        since: elapsed(clock)
      }
      const queue = sender.urgent ? urgent : later
      queue.add(ticket)
      changeRequests("waiting", 1)
      const position = queue.position(ticket) + (sender.urgent ? 0 : urgent.size())
      const turn = Effect.zipRight(sender.queued(position), Deferred.await(ticket.granted))
      return Effect.flatMap(Effect.exit(restore(Effect.zipRight(turn, request))), (exit) => {
        if (queue.remove(ticket)) changeRequests("waiting", -1)
        else leave()
        return exit
      })
    })

  return {
    send,
    hold,
    closedFor,
    load: () => ({ held: sent, waiting: waiting() })
  }
}
