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

/** A slot for an agent below a root, taken from a pool. */
export const makeSlot = (
  pool: ReturnType<typeof makePool>,
  rootID: SessionID,
  news: SlotNews
): Slot => {
  let started = false
  /** Whether it was told that the first slot is there. */
  let told = false
  let holds = false
  /** Whether the slot was granted before there was work, and there was none since. */
  let unused = false
  let acquiring: Deferred.Deferred<void> | undefined
  /** Calls that have not ended, and those among them that wait. */
  let open = 0
  let waiting = 0

  const give = () => {
    if (!holds) return
    holds = false
    unused = false
    pool.release(rootID)
  }

  const giveIfAllWait = () => {
    if (open > 0 && waiting === open) give()
  }

  const tell = Effect.suspend(() => {
    unused = false
    if (told) return Effect.void
    told = true
    return news.granted
  })

  /** Asks for the slot. Somebody else may have got it meanwhile: it is one, and a second one goes back at once. */
  const take = (goesOn: boolean, then: (took: boolean) => void) =>
    pool.ask(rootID, goesOn, () => {
      const took = !holds
      holds = true
      if (!took) pool.release(rootID)
      then(took)
    }, news.most)

  /**
   * The first call that needs the slot asks for it, the others wait with it; if it is interrupted, the next one asks. What was
   * granted meanwhile goes back with the end of the work.
   */
  const holdFrom = (restore: Restore): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (holds) return tell
      if (acquiring !== undefined) return Effect.zipRight(restore(Deferred.await(acquiring)), holdFrom(restore))
      const mine = acquiring = Deferred.unsafeMake<void>(noFiber)
      const goesOn = started
      started = true
      const granted = Deferred.unsafeMake<void>(noFiber)
      const { position, withdraw } = take(goesOn, () => Deferred.unsafeDone(granted, Effect.void))
      const queued = goesOn || position === 0 ? Effect.void : news.queued(position)
      return restore(Effect.zipRight(queued, Deferred.await(granted))).pipe(
        Effect.onInterrupt(() => Effect.sync(withdraw)),
        Effect.zipLeft(tell),
        Effect.ensuring(Effect.suspend(() => {
          acquiring = undefined
          return Deferred.succeed(mine, undefined)
        }))
      )
    })
  // Only the waiting can be interrupted: what the others wait for must come to an end.
  const hold = Effect.uninterruptibleMask(holdFrom)

  const call = <A, E, R>(body: (call: Call) => Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      /** In how many places it waits: what it runs at the same time may wait as well. */
      let waits = 0
      const rest = () => {
        if (waits++ > 0) return
        waiting++
        giveIfAllWait()
      }
      const goOn = () => {
        if (waits > 0 && --waits === 0) waiting--
      }
      // What waits there and is given up does not wait for a slot: the step does, before it goes on.
      const wait: Call["waiting"] = (effect) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.suspend(() => {
            rest()
            return Effect.flatMap(Effect.exit(restore(effect)), (exit) => {
              goOn()
              return waits > 0 ? exit : Effect.zipRight(restore(hold), exit)
            })
          })
        )
      const end = Effect.sync(() => {
        if (waits > 0) waiting--
        waits = 0
        open--
        giveIfAllWait()
      })
      return Effect.ensuring(body({ waiting: wait }), end)
    })

  const first: Slot["first"] = (start) => {
    started = true
    let waits = true
    const { position, withdraw } = take(false, (took) => {
      waits = false
      unused = took
      start()
    })
    const giveUp = () => {
      if (waits) withdraw()
      else if (unused) give()
      waits = false
    }
    return { position, giveUp }
  }

  return {
    first,
    work: (effect) => Effect.ensuring(Effect.zipRight(hold, effect), Effect.sync(give)),
    away: (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          if (!holds) return restore(effect)
          give()
          return Effect.flatMap(
            Effect.exit(restore(effect)),
            (exit) => Exit.isInterrupted(exit) ? exit : Effect.zipRight(restore(hold), exit)
          )
        })
      ),
    calls: (inputs, body) =>
      Effect.suspend(() => {
        open += inputs.length
        return Effect.zipLeft(
          together(inputs, (input) => call((each) => body(input, each))),
          hold
        )
      })
  }
}
