/** Owns the slots of agents at work: who has one, who waits for one, and when it is given back meanwhile. */
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"
import { changeAgents } from "../../Metrics.ts"
import type { Call, Slot, SlotNews } from "../../Slot.ts"
import { type FairQueue, makeFairQueue } from "./fairQueue.ts"

/** All at the same time; one alone needs no fiber of its own. */
const together = <A, B, E, R>(inputs: ReadonlyArray<A>, body: (input: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(inputs, body, inputs.length > 1 ? { concurrency: "unbounded" } : {})

/** The slot of those who need none. */
export const free: Slot = {
  first: (start) => {
    start()
    return { position: 0, giveUp: () => {} }
  },
  work: (effect) => effect,
  away: (effect) => effect,
  calls: (inputs, body) => together(inputs, (input) => body(input, { waiting: (effect) => effect }))
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Ticket {
  readonly rootID: SessionID
  /** How many agents of the root may have a slot. */
  readonly most: number
  readonly granted: () => void
}

/** What all slots are taken from: so many per root, and so many in the process. */
export const makePool = (perRoot: number, perProcess: number) => {
  const resumed = makeFairQueue<Ticket>()
  const fresh = makeFairQueue<Ticket>()
  const heldBy = new Map<SessionID, number>()
  let held = 0

  const hasRoom = ({ most, rootID }: Ticket) => (heldBy.get(rootID) ?? 0) < most

  const grantNext = (queue: FairQueue<Ticket>): boolean => {
    const ticket = queue.take(hasRoom)
    if (ticket === undefined) return false
    changeAgents("queued", -1)
    changeAgents("running", 1)
    held++
    heldBy.set(ticket.rootID, (heldBy.get(ticket.rootID) ?? 0) + 1)
    ticket.granted()
    return true
  }

  const grant = () => {
    while (held < perProcess && (grantNext(resumed) || grantNext(fresh)));
  }

  const release = (rootID: SessionID) => {
    held--
    changeAgents("running", -1)
    const left = (heldBy.get(rootID) ?? 1) - 1
    if (left === 0) heldBy.delete(rootID)
    else heldBy.set(rootID, left)
    grant()
  }

  /** Asks for a slot; gives the place in the queue, 0 where it was granted at once, and the way to wait no longer. */
  const ask = (rootID: SessionID, goesOn: boolean, granted: () => void, most = perRoot) => {
    const ticket: Ticket = { rootID, most, granted }
    const queue = goesOn ? resumed : fresh
    queue.add(ticket)
    changeAgents("queued", 1)
    grant()
    const withdraw = () => {
      if (queue.remove(ticket)) changeAgents("queued", -1)
    }
    return { position: queue.position(ticket), withdraw }
  }

  return { ask, release, load: () => ({ held, waiting: resumed.size() + fresh.size() }) }
}

/** One that waits for the slot of an agent. */
interface Request {
  readonly serve: () => void
  /** Whether it gives the slot back itself, at the end of its work. */
  readonly isWork: boolean
  withdraw: () => void
}

/** Whether an agent has its slot, and which of its calls need it. */
class Holding {
  readonly #pool: ReturnType<typeof makePool>
  readonly #rootID: SessionID
  #news: SlotNews
  #started = false
  /** Whether it was told that the first slot is there. */
  #told = false
  #holds = false
  /** Which request got the slot before there was work, while there was none since. */
  #unusedBy: Request | undefined
  /** The requests that wait for the slot. Whichever is granted serves all. */
  readonly #requests = new Set<Request>()
  #acquiring: Deferred.Deferred<void> | undefined
  /** Calls that have not ended, and those among them that wait. */
  #open = 0
  #waiting = 0

  constructor(pool: ReturnType<typeof makePool>, rootID: SessionID, news: SlotNews) {
    this.#pool = pool
    this.#rootID = rootID
    this.#news = news
  }

  get holds(): boolean {
    return this.#holds
  }

  give(): void {
    if (!this.#holds) return
    this.#holds = false
    this.#unusedBy = undefined
    this.#pool.release(this.#rootID)
  }

  beginCalls(count: number): void {
    this.#open += count
  }

  beginWaiting(): void {
    this.#waiting++
    this.#giveIfAllWait()
  }

  endWaiting(): void {
    this.#waiting--
  }

  endCall(): void {
    this.#open--
    this.#giveIfAllWait()
  }

  /** Nothing of an earlier turn is left: calls that never began have not ended either. */
  beginWork(): void {
    this.#open = 0
    this.#waiting = 0
  }

  /** Asks for the first slot of a run before there is work. */
  first(start: () => void, news: SlotNews | undefined): ReturnType<Slot["first"]> {
    if (news !== undefined) {
      this.#news = news
      this.#told = false
    }
    this.#started = true
    // It works already, and gives the slot back at the end of that.
    if (this.#holds) {
      start()
      return { position: 0, giveUp: () => {} }
    }
    const request: Request = { serve: start, isWork: false, withdraw: () => {} }
    const position = this.#ask(request, false)
    const giveUp = () => {
      this.#withdraw(request)
      if (this.#unusedBy === request) this.give()
    }
    return { position, giveUp }
  }

  // Only the waiting can be interrupted: what the others wait for must finish.
  readonly hold: Effect.Effect<void> = Effect.uninterruptibleMask((restore) => this.#holdFrom(restore))

  /**
   * The first call that needs the slot asks for it, the others wait with it; if it is interrupted, the next one asks. What was
   * granted meanwhile goes back with the end of the work.
   */
  #holdFrom(restore: Restore): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#holds) return this.#tell()
      if (this.#acquiring !== undefined) {
        return Effect.zipRight(restore(Deferred.await(this.#acquiring)), this.#holdFrom(restore))
      }
      const mine = this.#acquiring = Deferred.unsafeMake<void>(noFiber)
      const goesOn = this.#started
      this.#started = true
      const granted = Deferred.unsafeMake<void>(noFiber)
      const serve = () => Deferred.unsafeDone(granted, Effect.void)
      const request: Request = { serve, isWork: true, withdraw: () => {} }
      const position = this.#ask(request, goesOn)
      const queued = goesOn || position === 0 ? Effect.void : this.#news.queued(position)
      return restore(Effect.zipRight(queued, Deferred.await(granted))).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.#withdraw(request))),
        Effect.zipLeft(Effect.suspend(() => this.#tell())),
        Effect.ensuring(Effect.suspend(() => {
          this.#acquiring = undefined
          return Deferred.succeed(mine, undefined)
        }))
      )
    })
  }

  #giveIfAllWait(): void {
    if (this.#open > 0 && this.#waiting === this.#open) this.give()
  }

  #tell(): Effect.Effect<void> {
    this.#unusedBy = undefined
    if (this.#told) return Effect.void
    this.#told = true
    return this.#news.granted
  }

  /** Asks for the slot; returns the place in the queue, 0 if it was granted at once. */
  #ask(request: Request, goesOn: boolean): number {
    this.#requests.add(request)
    const { position, withdraw } = this.#pool.ask(this.#rootID, goesOn, () => this.#granted(request), this.#news.most)
    request.withdraw = withdraw
    return position
  }

  #withdraw(request: Request): void {
    if (this.#requests.delete(request)) request.withdraw()
  }

  /** One slot is enough for all that wait for it: none of them may wait for what another one has. */
  #granted(request: Request): void {
    this.#holds = true
    this.#requests.delete(request)
    const served = [request, ...this.#requests]
    for (const other of this.#requests) this.#withdraw(other)
    this.#unusedBy = served.some(({ isWork }) => isWork) ? undefined : request
    for (const { serve } of served) serve()
  }
}

/** One call of an agent, which may give the slot away while it waits. */
const call = <A, E, R>(holding: Holding, body: (call: Call) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    /** In how many places it waits: what it runs at the same time may wait as well. */
    let waits = 0
    const rest = () => {
      if (waits++ === 0) holding.beginWaiting()
    }
    const goOn = () => {
      if (waits > 0 && --waits === 0) holding.endWaiting()
    }
    // What waits there and is given up does not wait for a slot: the step does, before it goes on.
    const waiting: Call["waiting"] = (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          rest()
          return Effect.flatMap(Effect.exit(restore(effect)), (exit) => {
            goOn()
            return waits > 0 ? exit : Effect.zipRight(restore(holding.hold), exit)
          })
        })
      )
    const end = Effect.sync(() => {
      if (waits > 0) holding.endWaiting()
      waits = 0
      holding.endCall()
    })
    return Effect.ensuring(body({ waiting }), end)
  })

/** A slot for an agent below a root, taken from a pool. */
export const makeSlot = (pool: ReturnType<typeof makePool>, rootID: SessionID, news: SlotNews): Slot => {
  const holding = new Holding(pool, rootID, news)
  const give = Effect.sync(() => holding.give())
  return {
    first: (start, next) => holding.first(start, next),
    work: (effect) =>
      Effect.suspend(() => {
        holding.beginWork()
        return Effect.ensuring(Effect.zipRight(holding.hold, effect), give)
      }),
    away: (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          if (!holding.holds) return restore(effect)
          holding.give()
          return Effect.flatMap(
            Effect.exit(restore(effect)),
            (exit) => Exit.isInterrupted(exit) ? exit : Effect.zipRight(restore(holding.hold), exit)
          )
        })
      ),
    calls: (inputs, body) =>
      Effect.suspend(() => {
        holding.beginCalls(inputs.length)
        return Effect.zipLeft(
          together(inputs, (input) => call(holding, (each) => body(input, each))),
          holding.hold
        )
      })
  }
}
