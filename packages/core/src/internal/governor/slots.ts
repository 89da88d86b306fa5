/** Owns the slots of working agents: who holds one, and who waits. */
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"
import type { Restore } from "../../Fibers.ts"
import { changeAgents } from "../../Metrics.ts"
import type { Slot, SlotLoad, SlotNews } from "../../Slot.ts"
import { type FairQueue, makeFairQueue } from "./fairQueue.ts"

interface Ticket {
  readonly rootID: SessionID
  /** The limit of slots for the root. */
  readonly most: number
  readonly granted: () => void
}

/** The slots that a root has, those that it waits for, and how many it may have. */
interface RootSlots {
  readonly held: number
  readonly waiting: number
  readonly most: number
}

/** How many slots a root could use if the process had no limit. */
const wantedBy = ({ held, most, waiting }: RootSlots) => Math.min(held + waiting, Math.max(held, most))

/** The pool of all slots, with a limit per root and one for the process. */
export const makePool = (perRoot: number, perProcess: number) => {
  const resumed = makeFairQueue<Ticket>()
  const fresh = makeFairQueue<Ticket>()
  const roots = new Map<SessionID, RootSlots>()
  let held = 0

  const change = (rootID: SessionID, by: Omit<RootSlots, "most">, most?: number) => {
    const before = roots.get(rootID) ?? { held: 0, waiting: 0, most: perRoot }
    const after = { held: before.held + by.held, waiting: before.waiting + by.waiting, most: most ?? before.most }
    if (after.held === 0 && after.waiting === 0) roots.delete(rootID)
    else roots.set(rootID, after)
  }

  const hasRoom = ({ most, rootID }: Ticket) => (roots.get(rootID)?.held ?? 0) < most

  const grantNext = (queue: FairQueue<Ticket>): boolean => {
    const ticket = queue.take(hasRoom)
    if (ticket === undefined) return false
    changeAgents("queued", -1)
    changeAgents("running", 1)
    held++
    change(ticket.rootID, { held: 1, waiting: -1 })
    ticket.granted()
    return true
  }

  const grant = () => {
    while (held < perProcess && (grantNext(resumed) || grantNext(fresh)));
  }

  const release = (rootID: SessionID) => {
    held--
    changeAgents("running", -1)
    change(rootID, { held: -1, waiting: 0 })
    grant()
  }

  /** Requests a slot. Returns the place in the queue (0 if granted at once), and how to withdraw the request. */
  const ask = (rootID: SessionID, isResumed: boolean, granted: () => void, most = perRoot) => {
    const ticket: Ticket = { rootID, most, granted }
    const queue = isResumed ? resumed : fresh
    queue.add(ticket)
    changeAgents("queued", 1)
    change(rootID, { held: 0, waiting: 1 }, most)
    grant()
    const withdraw = () => {
      if (!queue.remove(ticket)) return
      changeAgents("queued", -1)
      change(rootID, { held: 0, waiting: -1 })
    }
    return { position: queue.position(ticket), withdraw }
  }

  const load = (): SlotLoad => {
    const wanted = new Map([...roots].map(([rootID, root]) => [rootID, wantedBy(root)]))
    return {
      held,
      waiting: resumed.size() + fresh.size(),
      limit: perProcess,
      wanted: [...wanted.values()].reduce((sum, each) => sum + each, 0),
      roots: wanted
    }
  }

  return { ask, release, load }
}

/** A request for the slot of an agent. */
interface Request {
  readonly serve: () => void
  /** Whether it comes from work, which releases the slot at its end. */
  readonly isWork: boolean
  withdraw: () => void
}

/** The slot of an agent without limits, such as a root. */
export const free: Slot = {
  first: (start) => {
    start()
    return { position: 0, giveUp: () => {} }
  },
  isWaiting: () => false,
  isHeld: () => true,
  work: (effect) => effect,
  away: (effect) => effect,
  give: () => {},
  hold: Effect.void
}

/** A slot that an agent below a root takes from a pool. */
class PoolSlot implements Slot {
  readonly #pool: ReturnType<typeof makePool>
  readonly #rootID: SessionID
  #news: SlotNews
  #started = false
  /** Whether the first grant was reported. */
  #isNotified = false
  #holds = false
  /** The request that was granted the slot before any work began; undefined once work uses it. */
  #unusedBy: Request | undefined
  /** The waiting requests of this agent. One grant serves all of them. */
  readonly #requests = new Set<Request>()
  #acquiring: Deferred.Deferred<void> | undefined

  constructor(pool: ReturnType<typeof makePool>, rootID: SessionID, news: SlotNews) {
    this.#pool = pool
    this.#rootID = rootID
    this.#news = news
  }

  isWaiting(): boolean {
    return this.#acquiring !== undefined && !this.#holds
  }

  isHeld(): boolean {
    return this.#holds
  }

  first(start: () => void, news: SlotNews = this.#news): ReturnType<Slot["first"]> {
    if (news !== this.#news) this.#isNotified = false
    this.#news = news
    this.#started = true
    // It already works, and releases the slot at the end of that work.
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

  work<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.ensuring(Effect.zipRight(this.hold, effect), Effect.sync(() => this.give()))
  }

  away<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (!this.#holds) return restore(effect)
        this.give()
        return Effect.flatMap(
          Effect.exit(restore(effect)),
          (exit) => Exit.isInterrupted(exit) ? exit : Effect.zipRight(restore(this.hold), exit)
        )
      })
    )
  }

  give(): void {
    if (!this.#holds) return
    this.#holds = false
    this.#unusedBy = undefined
    this.#pool.release(this.#rootID)
  }

  // Only the waiting is interruptible: other calls wait for the acquisition, so it must finish.
  get hold(): Effect.Effect<void> {
    return Effect.uninterruptibleMask((restore) => this.#holdFrom(restore))
  }

  /**
   * The first call that needs the slot requests it, and the others wait for that request. If the first is interrupted,
   * the next one requests it. A slot that was granted meanwhile is released at the end of the work.
   */
  #holdFrom(restore: Restore): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#holds) return this.#notifyGranted()
      if (this.#acquiring !== undefined) {
        return Effect.zipRight(restore(Deferred.await(this.#acquiring)), this.#holdFrom(restore))
      }
      const mine = this.#acquiring = Deferred.unsafeMake<void>(noFiber)
      const isResumed = this.#started
      this.#started = true
      const granted = Deferred.unsafeMake<void>(noFiber)
      const serve = () => Deferred.unsafeDone(granted, Effect.void)
      const request: Request = { serve, isWork: true, withdraw: () => {} }
      const position = this.#ask(request, isResumed)
      const queued = isResumed || position === 0 ? Effect.void : this.#news.queued(position)
      return restore(Effect.zipRight(queued, Deferred.await(granted))).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.#withdraw(request))),
        Effect.zipLeft(Effect.suspend(() => this.#notifyGranted())),
        Effect.ensuring(Effect.suspend(() => {
          this.#acquiring = undefined
          return Deferred.succeed(mine, undefined)
        }))
      )
    })
  }

  #notifyGranted(): Effect.Effect<void> {
    this.#unusedBy = undefined
    if (this.#isNotified) return Effect.void
    this.#isNotified = true
    return this.#news.granted
  }

  /** Requests the slot; returns the place in the queue, 0 if it was granted at once. */
  #ask(request: Request, isResumed: boolean): number {
    this.#requests.add(request)
    const { position, withdraw } = this.#pool.ask(
      this.#rootID,
      isResumed,
      () => this.#granted(request),
      this.#news.most
    )
    request.withdraw = withdraw
    return position
  }

  #withdraw(request: Request): void {
    if (this.#requests.delete(request)) request.withdraw()
  }

  /** One slot serves all requests of the agent: none may wait for a slot that another one holds. */
  #granted(request: Request): void {
    this.#holds = true
    this.#requests.delete(request)
    const served = [request, ...this.#requests]
    for (const other of this.#requests) this.#withdraw(other)
    this.#unusedBy = served.some(({ isWork }) => isWork) ? undefined : request
    for (const { serve } of served) serve()
  }
}

/** A slot for an agent below a root, taken from a pool. */
export const makeSlot = (pool: ReturnType<typeof makePool>, rootID: SessionID, news: SlotNews): Slot =>
  new PoolSlot(pool, rootID, news)
