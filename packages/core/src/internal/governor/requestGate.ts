/** Limits the parallel requests to a model, and sends none while the provider asked for a pause. */
import type { SessionID } from "@skein/domain/Id"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import * as Random from "effect/Random"
import { changeRequests, countWait } from "../../Metrics.ts"
import { elapsed, steady } from "../../MonotonicClock.ts"
import type { Demand, RequestGate, Sender, Sharing } from "../../RequestGate.ts"
import type { Alarm } from "../fibers.ts"
import { makeFairQueue } from "./fairQueue.ts"

/**
 * The time after a pause over which waiting requests are sent, in milliseconds, so that they do not all return at once.
 */
const reopeningTime = 1_000

/** For how long a request may wait for a share without being shown as queued, in milliseconds. */
const unseen = 1_000

/** A waiting request. */
interface Ticket {
  readonly rootID: SessionID
  readonly granted: Deferred.Deferred<void>
  readonly since: number
  readonly most: number
}

/** The requests in flight, the waiting ones, and the pause that the provider asked for. */
class Gate {
  readonly #limit: number
  readonly #clock: Clock.Clock
  readonly #fork: (effect: Effect.Effect<void>) => void
  readonly #urgent = makeFairQueue<Ticket>()
  readonly #later = makeFairQueue<Ticket>()
  /** How many requests belong to each tree. */
  readonly #roots = new Map<SessionID, number>()
  /** The share of this process, and until when it may use it (ms); undefined if it shares the limit with nobody. */
  #lent: { readonly share: number; readonly until: number } | undefined
  #changed = () => {}
  /** The limit of all processes that share it: projects may have set a higher one. */
  #top: number
  #sent = 0
  #closed = false
  #opens = 0
  #isOpening = false

  constructor(limit: number, clock: Clock.Clock, fork: (effect: Effect.Effect<void>) => void) {
    this.#limit = limit
    this.#top = limit
    this.#clock = clock
    this.#fork = fork
  }

  load(): { readonly held: number; readonly waiting: number } {
    return { held: this.#sent, waiting: this.#urgent.size() + this.#later.size() }
  }

  closedFor(): number {
    return this.#closed ? Math.max(0, this.#opens - elapsed(this.#clock)) : 0
  }

  /** From now on, nothing passes without a share. */
  share(changed: () => void): void {
    this.#lent = { share: 0, until: 0 }
    this.#changed = changed
  }

  lend(share: number, milliseconds: number): void {
    this.#lent = { share, until: steady(this.#clock) + milliseconds }
    if (!this.#isOpening) { while (this.#grantNext()); }
  }

  demand(): Demand {
    const { held, waiting } = this.load()
    return { limit: this.#top, held, waiting, roots: this.#roots.size }
  }

  /** A request of a tree begins to wait or to run; returns what to call at its end. */
  count({ most = this.#limit, rootID }: Sender): () => void {
    this.#top = Math.max(this.#top, most)
    this.#roots.set(rootID, (this.#roots.get(rootID) ?? 0) + 1)
    return () => {
      const left = (this.#roots.get(rootID) ?? 1) - 1
      if (left > 0) this.#roots.set(rootID, left)
      else this.#roots.delete(rootID)
    }
  }

  /** How many requests may be in flight here for a sender that allows so many. A lower limit is divided in the same way. */
  #room(most: number): number {
    if (this.#lent === undefined) return most
    const share = steady(this.#clock) < this.#lent.until ? this.#lent.share : 0
    return most >= this.#top ? share : Math.min(share, Math.max(1, Math.floor(most * share / this.#top)))
  }

  hold(duration: number): void {
    if (duration <= 0) return
    this.#changed()
    this.#opens = Math.max(this.#opens, elapsed(this.#clock) + duration)
    this.#closed = true
    if (this.#isOpening) return
    // Set before the fork, because a pause that has already passed ends within the fork.
    this.#isOpening = true
    this.#fork(this.#open)
  }

  /** Whether what waits now waits for a share, and neither for a request of this process nor for the end of a pause. */
  awaitsShare(): boolean {
    return this.#lent !== undefined && this.#sent === 0 && !this.#closed
  }

  /** Takes a place if one is free and the queue is empty. */
  enter({ most = this.#limit }: Sender): boolean {
    if (this.#closed && this.closedFor() === 0) this.#closed = false
    if (this.#closed || this.#sent >= this.#room(most) || this.load().waiting > 0) return false
    this.#sent++
    changeRequests("sent", 1)
    return true
  }

  /** Frees a place and grants waiting requests. While the gate opens after a pause, only one. */
  leave(): void {
    this.#sent--
    changeRequests("sent", -1)
    while (this.#grantNext() && !this.#isOpening);
  }

  /**
   * Queues for a place. Returns a latch that opens with the grant, the position, and how to leave the queue or the
   * place.
   */
  enqueue({ most = this.#limit, rootID, urgent }: Sender) {
    const granted = Deferred.unsafeMake<void>(noFiber)
    const ticket: Ticket = { rootID, granted, most, since: elapsed(this.#clock) }
    const queue = urgent ? this.#urgent : this.#later
    queue.add(ticket)
    this.#changed()
    changeRequests("waiting", 1)
    const position = queue.position(ticket) + (urgent ? 0 : this.#urgent.size())
    const end = () => {
      if (queue.remove(ticket)) changeRequests("waiting", -1)
      else this.leave()
    }
    return { granted, position, end }
  }

  #grantNext(): boolean {
    if (this.#closed) return false
    // A next request without room blocks all others: if others passed it, it could wait forever.
    let isBlocked = false
    const hasRoom = ({ most }: Ticket) => {
      isBlocked ||= this.#sent >= this.#room(most)
      return !isBlocked
    }
    const ticket = this.#urgent.take(hasRoom) ?? this.#later.take(hasRoom)
    if (ticket === undefined) return false
    this.#sent++
    changeRequests("waiting", -1)
    changeRequests("sent", 1)
    countWait(elapsed(this.#clock) - ticket.since)
    Deferred.unsafeDone(ticket.granted, Effect.void)
    return true
  }

  /**
   * Opens the gate gradually. Ends when nothing waits or all places are taken: from then on, each request that ends
   * grants the next one.
   */
  readonly #open: Effect.Effect<void> = Effect.suspend(() => {
    const left = this.closedFor()
    if (left > 0) return Effect.zipRight(Effect.sleep(left), this.#open)
    this.#closed = false
    if (this.#grantNext()) {
      return Effect.flatMap(
        Random.next,
        (chance) => Effect.zipRight(Effect.sleep(Math.ceil(chance * 2 * reopeningTime / this.#limit)), this.#open)
      )
    }
    this.#isOpening = false
    return Effect.void
  })
}

/** Makes the gate of one rate limit; `fork` runs the fiber that opens it again after a pause. */
export const makeRequestGate = (
  limit: number,
  clock: Clock.Clock,
  alarm: Alarm,
  fork: (effect: Effect.Effect<void>) => void
): Gated => {
  const gate = new Gate(limit, clock, fork)
  return {
    enter: (sender) => {
      const uncount = gate.count(sender)
      if (gate.enter(sender)) {
        return {
          granted: undefined,
          leave: () => {
            uncount()
            gate.leave()
          }
        }
      }
      const { end, granted, position } = gate.enqueue(sender)
      // A process without work has no share, and gets one at once if nobody else needs it.
      const cancel = gate.awaitsShare() ?
        alarm(elapsed(clock) + unseen, () => {
          sender.queued(position)
          return undefined
        }) :
        undefined
      if (cancel === undefined) sender.queued(position)
      return {
        granted: Effect.map(Deferred.await(granted), () => cancel?.()),
        leave: () => {
          cancel?.()
          uncount()
          end()
        }
      }
    },
    hold: (duration) => gate.hold(duration),
    closedFor: () => gate.closedFor(),
    alarm,
    load: () => gate.load(),
    share: (key, { added, changed }) => {
      gate.share(changed)
      added({
        key,
        demand: () => gate.demand(),
        lend: (share, milliseconds) => gate.lend(share, milliseconds),
        hold: (milliseconds) => gate.hold(milliseconds),
        closedFor: () => gate.closedFor()
      })
    }
  }
}

/** A gate whose limit can be shared with other processes. */
interface Gated extends RequestGate {
  readonly share: (key: string, sharing: Sharing) => void
}
