/** Owns how much happens at once: slots for agents at work, per root and for the process, first come first served. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import * as Layer from "effect/Layer"
import { Config } from "./Config.ts"

/** A call of an agent: it counts as work except while it waits. */
export interface Call {
  /** Waits for others (tasks, people): the agent gives its slot back meanwhile, where none of its other calls is at work. */
  readonly waiting: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** An agent's right to work. */
export interface Slot {
  /** Works as soon as there is room, and makes room at the end. */
  readonly work: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Inside of `work`: makes calls at the same time and gives their results in order. */
  readonly calls: <A, B, E, R>(
    inputs: ReadonlyArray<A>,
    body: (input: A, call: Call) => Effect.Effect<B, E, R>
  ) => Effect.Effect<Array<B>, E, R>
}

/** What an agent hears of its first slot. */
export interface SlotNews {
  /** It has to wait, at this place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
  /** It has the slot. */
  readonly granted: Effect.Effect<void>
}

/** How much happens at once. */
export class Governor extends Context.Tag("@skein/core/Governor")<Governor, {
  /**
   * A slot for an agent below a root. Agents that go on after waiting come before new ones, so that nested waiting cannot
   * block itself.
   */
  readonly slot: (rootID: SessionID, news: SlotNews) => Slot
  /** The slot of a root: there is always room for it, and no limit counts it. */
  readonly free: Slot
  /** How many tool calls of one step run at once; calls that wait for others do not count. */
  readonly callsAtOnce: number
  /** How many agents hold a slot, and how many wait for one. */
  readonly load: Effect.Effect<{ readonly held: number; readonly waiting: number }>
}>() {
  /** A governor for this process, by the limits of the config. */
  static readonly layer: Layer.Layer<Governor, never, Config> = Layer.effect(
    Governor,
    Effect.map(Config, ({ settings: { limits } }) => {
      const pool = makePool(limits.concurrency, limits.process_concurrency)
      return {
        slot: (rootID, news) => makeSlot(pool, rootID, news),
        free,
        callsAtOnce: limits.concurrency,
        load: Effect.sync(pool.load)
      }
    })
  )
}

/** All at the same time; one alone needs no fiber of its own. */
const together = <A, B, E, R>(inputs: ReadonlyArray<A>, body: (input: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(inputs, body, inputs.length > 1 ? { concurrency: "unbounded" } : {})

const free: Slot = {
  work: (effect) => effect,
  calls: (inputs, body) => together(inputs, (input) => body(input, { waiting: (effect) => effect }))
}

interface Ticket {
  readonly rootID: SessionID
  readonly granted: Deferred.Deferred<void>
}

const makePool = (perRoot: number, perProcess: number) => {
  const resumed: Array<Ticket> = []
  const fresh: Array<Ticket> = []
  const heldBy = new Map<SessionID, number>()
  let held = 0

  const grantNext = (queue: Array<Ticket>): boolean => {
    const at = queue.findIndex((ticket) => (heldBy.get(ticket.rootID) ?? 0) < perRoot)
    if (at < 0) return false
    const [ticket] = queue.splice(at, 1)
    if (ticket === undefined) return false
    held++
    heldBy.set(ticket.rootID, (heldBy.get(ticket.rootID) ?? 0) + 1)
    Deferred.unsafeDone(ticket.granted, Effect.void)
    return true
  }

  const grant = () => {
    while (held < perProcess && (grantNext(resumed) || grantNext(fresh)));
  }

  const release = (rootID: SessionID) => {
    held--
    const left = (heldBy.get(rootID) ?? 1) - 1
    if (left === 0) heldBy.delete(rootID)
    else heldBy.set(rootID, left)
    grant()
  }

  /** Waits for a slot; a wait that is interrupted leaves no trace, even where the slot was granted meanwhile. */
  const acquire = (
    restore: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>,
    rootID: SessionID,
    goesOn: boolean,
    queued: (position: number) => Effect.Effect<void>
  ) =>
    Effect.suspend(() => {
      const ticket: Ticket = { rootID, granted: Deferred.unsafeMake(noFiber) }
      const queue = goesOn ? resumed : fresh
      queue.push(ticket)
      grant()
      const position = queue.indexOf(ticket)
      if (position < 0) return Effect.void
      return restore(Effect.zipRight(queued(position + 1), Deferred.await(ticket.granted))).pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            const at = queue.indexOf(ticket)
            if (at >= 0) queue.splice(at, 1)
            else release(rootID)
          })
        )
      )
    })

  return { acquire, release, load: () => ({ held, waiting: resumed.length + fresh.length }) }
}

const makeSlot = (
  pool: ReturnType<typeof makePool>,
  rootID: SessionID,
  news: SlotNews
): Slot => {
  let started = false
  let holds = false
  let acquiring: Deferred.Deferred<void> | undefined
  /** Calls that have not ended, and those among them that wait. */
  let open = 0
  let waiting = 0

  const give = () => {
    if (!holds) return
    holds = false
    pool.release(rootID)
  }

  const giveIfAllWait = () => {
    if (open > 0 && waiting === open) give()
  }

  /** The first call that needs the slot asks for it, the others wait with it; if it is interrupted, the next one asks. */
  const hold: Effect.Effect<void> = Effect.suspend(() => {
    if (holds) return Effect.void
    if (acquiring !== undefined) return Effect.zipRight(Deferred.await(acquiring), hold)
    const mine = acquiring = Deferred.unsafeMake<void>(noFiber)
    const goesOn = started
    started = true
    return Effect.uninterruptibleMask((restore) =>
      pool.acquire(restore, rootID, goesOn, goesOn ? () => Effect.void : news.queued).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            holds = true
          })
        ),
        Effect.zipLeft(goesOn ? Effect.void : news.granted),
        Effect.ensuring(Effect.suspend(() => {
          acquiring = undefined
          return Deferred.succeed(mine, undefined)
        }))
      )
    )
  })

  const call = <A, E, R>(body: (call: Call) => Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      let waits = false
      const rest = () => {
        waits = true
        waiting++
        giveIfAllWait()
      }
      const goOn = () => {
        if (waits) waiting--
        waits = false
      }
      const wait: Call["waiting"] = (effect) =>
        Effect.suspend(() => {
          rest()
          return Effect.flatMap(Effect.exit(effect), (exit) => {
            goOn()
            return Effect.zipRight(hold, exit)
          })
        })
      const end = Effect.sync(() => {
        goOn()
        open--
        giveIfAllWait()
      })
      return Effect.ensuring(body({ waiting: wait }), end)
    })

  return {
    work: (effect) => Effect.ensuring(Effect.zipRight(hold, effect), Effect.sync(give)),
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
