/**
 * Finds trees with unfinished work that nobody works in, and takes them up. No notification has to arrive for that: who died,
 * froze or left is noticed by its leases.
 */
import { FairSemaphore } from "@skein/core/Fibers"
import { Governor } from "@skein/core/Governor"
import { Leases } from "@skein/core/Leases"
import { now as currentTime } from "@skein/core/MonotonicClock"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Random from "effect/Random"
import { type Failures, isOut } from "./failures.ts"
import type { Bring } from "./moves.ts"
import type { Away, Places } from "./places.ts"
import type { TakeUp } from "./takeovers.ts"

/** After how many looks it is said that nobody has the model of a tree: runners that have it may be at their limit. */
const grace = 12

/** In how many looks that is said again. */
const reminder = 8

/** Makes it. */
const makeLacking = ({ lack }: Pick<Failures, "lack">) => {
  const known = new Map<SessionID, string>()
  const told = new Set<SessionID>()
  let count = 0

  const log = (rootID: SessionID, cause: string) =>
    Effect.suspend(() => {
      if (told.has(rootID)) return Effect.void
      told.add(rootID)
      return Effect.logWarning(`${rootID} is left to servers that have its model`, cause)
    })

  return {
    /** Notes that this runner lacks a model of a tree. */
    note: (rootID: SessionID, cause: string): Effect.Effect<void> => {
      known.set(rootID, cause)
      return log(rootID, cause)
    },
    /** Notes that it has all of them. */
    over: (rootID: SessionID): void => {
      known.delete(rootID)
      told.delete(rootID)
    },
    /** After a look that found these trees free, each for so many looks. */
    tell: (free: ReadonlyMap<SessionID, { readonly looks: number }>): Effect.Effect<void> =>
      Effect.suspend(() => {
        for (const rootID of known.keys()) if (!free.has(rootID)) known.delete(rootID)
        count++
        return count % reminder === 0
          ? lack(new Map([...known].filter(([rootID]) => (free.get(rootID)?.looks ?? 0) > grace)))
          : Effect.void
      })
  }
}

/** How long trees may take to be taken up before they are reported as waiting, in milliseconds. */
const summaryPatience = 20_000

/** How many trees continue where. */
interface Counts {
  readonly here: number
  readonly elsewhere: number
  readonly waiting: number
  readonly done: number
}

const some = (count: number, one: string, several: string): ReadonlyArray<string> =>
  count === 0 ? [] : [`${count} ${count === 1 ? one : several}`]

/** The line of the log. */
const outageText = ({ done, elsewhere, here, waiting }: Counts): string => {
  const all = here + elsewhere + waiting + done
  return `The storage is back. Of ${all === 1 ? "one tree" : `${all} trees`} whose work had stopped here: ${
    [
      ...some(here, "continues here", "continue here"),
      ...some(elsewhere, "continues at another server", "continue at other servers"),
      ...some(waiting, "still waits", "still wait"),
      ...some(done, "had nothing left to do", "had nothing left to do")
    ].join(", ")
  }.`
}

/** Makes what gets each look at the trees with unfinished work, and at those of them that nobody holds. */
const makeAfterOutage = Effect.map(Leases, (leases) => {
  const stopped = new Set<SessionID>()
  let since: number | undefined
  leases.onOutage((rootIDs) => {
    for (const rootID of rootIDs) stopped.add(rootID)
    since = undefined
  })
  return (unfinished: ReadonlyArray<SessionID>, free: ReadonlyArray<SessionID>): Effect.Effect<void> =>
    Effect.gen(function*() {
      if (stopped.size === 0) return
      const now = yield* currentTime
      // What ends here at the first look is held by nobody, and is not free yet.
      if (since === undefined) {
        since = now
        return
      }
      const waiting = free.filter((rootID) => stopped.has(rootID)).length
      if (waiting > 0 && now - since < summaryPatience) return
      const rest = unfinished.filter((rootID) => stopped.has(rootID))
      const here = rest.filter((rootID) => leases.epoch(rootID) > 0).length
      const counts = { here, waiting, elsewhere: rest.length - here - waiting, done: stopped.size - rest.length }
      stopped.clear()
      yield* Effect.logInfo(outageText(counts))
    })
})

/** How often to look. */
const pace = "500 millis"

/** How many looks a tree is left to the runner that the engine assigns it to. After that, any runner takes it up. */
const ownerGraceLooks = 1

/** How many looks a tree is left to others while no more agents can work here. */
const fullGraceLooks = 10

/** How many trees are taken up at once. If all were, all of them would be late together. */
const atOnce = 8

/** How many looks a tree is left alone that could not be taken up, because its directory is not here for example. */
const patience = 60

/** Moves a tree here, if its steps are kept for that; whether it can be taken up here now. */
const brought = (bring: Bring, rootID: SessionID) =>
  bring(rootID).pipe(
    Effect.catchIf((error) => error.reason === "held", () => Effect.succeed(false)),
    Effect.catchAll(({ message }) => Effect.as(Effect.logWarning(`${rootID} could not be moved here`, message), false))
  )

/** The trees without a holder: in how many looks each was seen, and since when. */
type Waiting = ReadonlyMap<SessionID, { readonly looks: number; readonly since: number }>

/** After a look that found these trees free. */
const seenAgain = (before: Waiting, free: ReadonlyArray<SessionID>, now: number): Waiting =>
  new Map(free.map((rootID) => {
    const { looks, since } = before.get(rootID) ?? { looks: 0, since: now }
    return [rootID, { looks: looks + 1, since }]
  }))

/** Counts a look for the trees that are left alone. */
const countDown = (left: Map<SessionID, number>): void => {
  for (const [rootID, looks] of left) {
    if (looks > 1) left.set(rootID, looks - 1)
    else left.delete(rootID)
  }
}

/** The trees of this runner first. Of the others, runners do not take the same ones at the same time. */
const inOrder = (free: ReadonlyArray<SessionID>, isMine: (rootID: SessionID) => boolean) => {
  const [others, own] = Arr.partition(free, isMine)
  return Effect.map(Random.shuffle(others), (shuffled) => [...own, ...shuffled])
}

/** Says that a tree waits for its host, unless another server has moved it meanwhile, or is about to. */
const stillWaits = (places: Places, leases: Context.Tag.Service<Leases>, rootID: SessionID) =>
  Effect.zip(places.of(rootID), leases.other(rootID)).pipe(
    Effect.flatMap(([place, other]) =>
      place._tag === "Away" && other === undefined ? places.waits(rootID, place) : Effect.void
    ),
    Effect.catchAll(({ message }) => Effect.logWarning(`${rootID} could not be read`, message))
  )

/** Logs a fault that ended a look: no tree may depend on one that does not end. */
const logFault = (defect: unknown) =>
  Effect.logError("A fault in Skein ended a look for trees without a holder", defect)

/** What a look needs of the rest of a runner. */
interface SweepOptions {
  /** Whether trees are taken up; otherwise only those that wait for another host are noted. */
  readonly resumes: boolean
  /** What the engine assigns to this runner. */
  readonly isMine: (rootID: SessionID) => boolean
  /** Tells the others that it is there. */
  readonly stay: Effect.Effect<void>
  readonly takeUp: TakeUp
  /** Whether another runner is taking a tree from this one. */
  readonly hasLeft: (rootID: SessionID) => Effect.Effect<boolean>
  readonly places: Places
  readonly bring: Bring
  readonly failures: Failures
  /** Gets the trees that nobody holds, after each look. */
  readonly free: (waiting: Waiting) => void
}

/** Makes what decides about one free tree: it takes the tree up if it can be continued here, and returns what else is to be done. */
const makeDecide = (
  options: SweepOptions,
  { failed, inTurn, lacking, leases }: {
    readonly failed: Map<SessionID, number>
    readonly inTurn: FairSemaphore["withPermit"]
    readonly lacking: ReturnType<typeof makeLacking>
    readonly leases: Context.Tag.Service<Leases>
  }
) => {
  const takeHere = (rootID: SessionID, since: number, claim?: Effect.Effect<boolean, StorageError>) =>
    Effect.zipRight(
      // Before it works, so that its own status comes after.
      options.places.over(rootID),
      options.failures.watch(rootID, options.takeUp(rootID, since, claim)).pipe(
        // Once the storage is back, the next look finds the tree.
        Effect.catchAll((error) => Effect.sync(() => isOut(error) ? undefined : void failed.set(rootID, patience)))
      )
    )

  /** Its files may be kept elsewhere. Until it moves, it is said to wait. */
  const bring = (rootID: SessionID, since: number, away: Away) =>
    options.places.notes(rootID, away).pipe(
      Effect.zipRight(brought(options.bring, rootID)),
      Effect.flatMap((isHere) => isHere ? inTurn(takeHere(rootID, since)) : stillWaits(options.places, leases, rootID))
    )

  return (rootID: SessionID, since: number) =>
    options.places.of(rootID).pipe(
      Effect.catchAll(({ message }) => Effect.as(Effect.logWarning(`${rootID} could not be read`, message), undefined)),
      Effect.flatMap((place) => {
        const isHere = place?._tag === "Here"
        if (place?._tag !== "Unable") lacking.over(rootID)
        if (isHere && options.resumes) {
          return Effect.as(takeHere(rootID, since, leases.claim(rootID)), Effect.void)
        }
        failed.set(rootID, place === undefined || place._tag === "There" ? ownerGraceLooks : patience)
        if (place === undefined) return Effect.succeed(Effect.void)
        if (place._tag === "Unable" && options.resumes) {
          return Effect.as(lacking.note(rootID, place.cause), Effect.void)
        }
        if (place._tag !== "Away") return Effect.as(options.places.over(rootID), Effect.void)
        return Effect.succeed(
          place.isKept === true ? bring(rootID, since, place) : options.places.waits(rootID, place)
        )
      })
    )
}

/** Looks for ever. */
export const sweep = (options: SweepOptions) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const governor = yield* Governor
    const taking = yield* FiberMap.make<SessionID>()
    const afterOutage = yield* makeAfterOutage
    let waiting: Waiting = new Map()
    /** For how many more looks trees are left alone. */
    const failed = new Map<SessionID, number>()
    // First come, first served: the tree that has waited longest is next.
    const inTurn = new FairSemaphore(atOnce).withPermit
    const lacking = makeLacking(options.failures)
    const decide = makeDecide(options, { failed, inTurn, lacking, leases })

    const take = (rootID: SessionID, since: number) =>
      Effect.flatten(inTurn(Effect.suspend(() =>
        // Another runner may have been faster.
        waiting.has(rootID) ? decide(rootID, since) : Effect.succeed(Effect.void)
      )))

    const look = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      countDown(failed)
      const isFull = yield* Effect.map(governor.load, ({ limit, wanted }) => wanted >= limit)
      const unfinished = yield* storage.unfinished
      const free = yield* leases.due(unfinished)
      const resting = yield* options.failures.resting(free, unfinished)
      yield* options.places.keep(new Set(free), resting.stuck)
      yield* afterOutage(unfinished, free)
      options.free(waiting = seenAgain(waiting, free, now))
      yield* lacking.tell(waiting)
      for (const rootID of yield* inOrder(free, options.isMine)) {
        if (resting.now.has(rootID)) continue
        const { looks, since } = waiting.get(rootID) ?? { looks: 0, since: now }
        const isWelcome = isFull ? looks > fullGraceLooks : options.isMine(rootID) || looks > ownerGraceLooks
        if (!failed.has(rootID) && isWelcome && !(yield* options.hasLeft(rootID))) {
          yield* FiberMap.run(taking, rootID, take(rootID, since), { onlyIfMissing: true })
        }
      }
    }).pipe(
      Effect.catchAll(({ message }) => Effect.logWarning("Trees without a holder could not be read", message)),
      Effect.catchAllDefect(logFault)
    )

    return yield* Effect.forever(Effect.zipRight(Effect.zipRight(options.stay, look), Effect.sleep(pace)))
  }).pipe(Effect.scoped)
