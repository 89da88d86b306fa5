/** Owns the part of this runner in a cluster: which trees it takes up, and on which runner the others are. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Governor } from "@skein/core/Governor"
import type { Journal } from "@skein/core/Journal"
import { Leases } from "@skein/core/Leases"
import { heldTrees } from "@skein/core/Metrics"
import { addressOf, Owner } from "@skein/core/Owner"
import type { Projects } from "@skein/core/Projects"
import { Session } from "@skein/core/Session"
import { isOver, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Whereabouts } from "@skein/core/Whereabouts"
import type { Ids, SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { type ClusterStatus, clusterStatus } from "./ClusterStatus.ts"
import type { ClusterUnavailable, ServedElsewhere } from "./ClusterUnavailable.ts"
import { makeBalance } from "./internal/balance.ts"
import { database, makeOwnConnection } from "./internal/database.ts"
import { engine, placement } from "./internal/engine.ts"
import { keepClean, makeWatchServers, type Member } from "./internal/entries.ts"
import { type Asked, makePeers, type Peers } from "./internal/exchange.ts"
import { makeFailures } from "./internal/failures.ts"
import { makeMembers } from "./internal/members.ts"
import { makeBring, makeMoves } from "./internal/moves.ts"
import { makePlaces, type Place } from "./internal/places.ts"
import { makeShares } from "./internal/shares.ts"
import { sweep } from "./internal/sweep.ts"
import { makeTakeovers, makeTakeUp } from "./internal/takeovers.ts"

/** What a runner is started with. */
export interface ClusterOptions {
  /** Where its API is, such as `http://10.0.0.1:4096`: other runners send requests there. */
  readonly url: string
  /** Of the program: `skein cluster status` shows it. */
  readonly version: string
  /** The URL of the PostgreSQL database that all runners share. */
  readonly database: Redacted.Redacted
  /** What runners prove each other that they belong together; if absent, a secret that is kept in the database. */
  readonly secret?: Redacted.Redacted
  /** Whether it continues unfinished work by itself, and takes trees that others move to it. */
  readonly resume: boolean
}

/** This runner, among others. */
export class Cluster extends Context.Tag("@skein/cluster/Cluster")<Cluster, {
  /** The address of the runner that works in a tree; undefined if nobody does. */
  readonly holder: (rootID: SessionID) => Effect.Effect<string | undefined, StorageError>
  /** Where a tree in which nobody works can be taken up. */
  readonly place: (rootID: SessionID) => Effect.Effect<Place, StorageError>
  /** Asks other runners. */
  readonly peers: Peers
  /** Does what another runner asks; undefined if this one refuses. */
  readonly answer: (asked: Asked) => Effect.Effect<object | undefined, StorageError>
  /** Whether a tree is about to move from here to another runner, or just has. */
  readonly isMoving: (rootID: SessionID) => boolean
  /** Whether it has, and nobody is known to hold it yet. */
  readonly hasLeft: (rootID: SessionID) => Effect.Effect<boolean>
  /** Whether no more agents can work here: prompts to trees in which nobody works go to runners with room. */
  readonly isFull: Effect.Effect<boolean>
  /** Whether something happens here in a tree that this runner holds. */
  readonly isUsed: (rootID: SessionID) => boolean
  /** Releases a tree in which nothing happens, at once; false if something does, or if it is not held. */
  readonly release: (rootID: SessionID) => Effect.Effect<boolean>
  /** Moves a tree to this host whose own host is gone, if its steps are kept; whether it can be taken up here now. */
  readonly bring: (rootID: SessionID) => Effect.Effect<boolean, StorageError>
  /** Whether a tree has work that nobody has finished. */
  readonly isUnfinished: (rootID: SessionID) => Effect.Effect<boolean, StorageError>
  /** The other runners that were seen lately. */
  readonly others: Effect.Effect<ReadonlyArray<Member>>
  /** The address of this one. */
  readonly url: string
  readonly secret: Redacted.Redacted
  /** The time of the database, in milliseconds. */
  readonly time: () => number
  /** Who is in the cluster. */
  readonly status: Effect.Effect<ClusterStatus, ClusterUnavailable>
  /** Takes up no more trees. To be run before the trees of this runner are left. */
  readonly leave: Effect.Effect<void>
}>() {
  /**
   * A runner. From now on it takes up trees that nobody works in: those that the engine assigns to it at once, others if
   * their runner does not. Without `resume` it takes up only those that clients prompt or resume.
   */
  static readonly layer = (
    options: ClusterOptions
  ): Layer.Layer<
    Cluster,
    ClusterUnavailable | ServedElsewhere,
    Governor | Ids | Journal | Leases | Owner | Projects | Session | SessionStorage | Whereabouts
  > =>
    Layer.scoped(Cluster, make(options)).pipe(
      Layer.provide(engine(options)),
      Layer.provide(database(options.database))
    )
}

/** How long dividing limits may take. A share lapses before: what hangs longer must not keep the next try waiting. */
const sharePatience = "5 seconds"

/** How often to look who is there. */
const watchingPace = "5 seconds"

/** Logs that the runner at this address leaves. */
const leaving = (url: string) =>
  Effect.suspend(() => {
    const trees = heldTrees()
    return Effect.logInfo(`${url} leaves the cluster. ${
      trees === 0
        ? "No tree works here."
        : `The others continue what is unfinished in the ${trees === 1 ? "tree" : `${trees} trees`} that it holds.`
    }`)
  })

const make = (options: ClusterOptions) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const owner = yield* Owner
    const members = yield* makeMembers({ url: options.url, secret: options.secret })
    const sql = yield* SqlClient.SqlClient
    const places = yield* makePlaces(options.url, members.others)
    const takeovers = yield* makeTakeovers(options.url)
    const bring = options.resume
      ? makeBring(places, yield* makeMoves, takeovers.brings)
      : () => Effect.succeed(false)
    const isMine = yield* placement
    const leases = yield* Leases
    const governor = yield* Governor
    yield* makeShares(governor, yield* makeOwnConnection(options.database, sharePatience))
    const takeUp = yield* makeTakeUp(takeovers)
    const failures = yield* makeFailures(options.url)
    const peers = makePeers(members)
    const balance = yield* makeBalance({
      moves: takeovers.moves,
      others: members.others,
      peers,
      placeOf: places.of,
      takeUp,
      takes: options.resume
    })
    const working = yield* FiberHandle.make()
    const stay = Effect.flatMap(balance.load, (load) => members.stay({ ...load, version: options.version }))
    const sweeping = sweep({
      resumes: options.resume,
      isMine,
      stay,
      takeUp,
      hasLeft: balance.hasLeft,
      places,
      bring,
      failures,
      free: takeovers.free
    })
    const watching = Effect.repeat(yield* makeWatchServers(options.url, members.all), Schedule.spaced(watchingPace))
    yield* FiberHandle.run(working, Effect.all([sweeping, balance.run, watching], { concurrency: "unbounded" }))
    yield* keepClean
    // The first to go: nothing is taken up while the rest ends.
    const leave = yield* Effect.cached(
      FiberHandle.clear(working).pipe(
        Effect.zipRight(leaving(options.url)),
        Effect.zipRight(takeovers.leaves),
        Effect.zipRight(members.leave)
      )
    )
    yield* Effect.addFinalizer(() => leave)
    return {
      url: options.url,
      secret: members.secret,
      time: members.time,
      leave,
      status: clusterStatus.pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Owner, owner)
      ),
      place: places.of,
      peers,
      answer: balance.answer,
      isMoving: balance.isMoving,
      hasLeft: balance.hasLeft,
      isFull: Effect.map(balance.room, (room) => room <= 0),
      isUsed: leases.isUsed,
      release: leases.release,
      bring,
      isUnfinished: (rootID: SessionID) => Effect.map(storage.unfinished, (all) => all.includes(rootID)),
      others: members.others,
      holder: (rootID: SessionID) =>
        Effect.gen(function*() {
          const lease = Option.getOrUndefined(yield* storage.lease(rootID))
          if (lease?.owner === owner.id) return options.url
          if (lease?.owner === undefined || isOver(lease)) return undefined
          return (yield* owner.isGone(lease.owner)) ? undefined : addressOf(lease.owner)
        })
    }
  })
