/** Owns the part of this runner in a cluster: which trees it takes up, and on which runner the others are. */
import { Leases } from "@skein/core/Leases"
import { addressOf, Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { isOver, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ClusterUnavailable } from "./ClusterUnavailable.ts"
import { database } from "./internal/database.ts"
import { engine, placement } from "./internal/engine.ts"
import { makeMembers, type Member } from "./internal/members.ts"
import { sweep } from "./internal/sweep.ts"

/** What a runner is started with. */
export interface ClusterOptions {
  /** Where its API is, such as `http://10.0.0.1:4096`: other runners send requests there. */
  readonly url: string
  /** The URL of the PostgreSQL database that all runners share. */
  readonly database: Redacted.Redacted
  /** What runners prove each other that they belong together; if absent, a secret that is kept in the database. */
  readonly secret?: Redacted.Redacted
}

/** This runner, among others. */
export class Cluster extends Context.Tag("@skein/cluster/Cluster")<Cluster, {
  /** The address of the runner that works in a tree; undefined if nobody does. */
  readonly holder: (rootID: SessionID) => Effect.Effect<string | undefined, StorageError>
  /** The other runners that were seen lately. */
  readonly others: Effect.Effect<ReadonlyArray<Member>>
  /** The address of this one. */
  readonly url: string
  readonly secret: Redacted.Redacted
  /** Takes up no more trees. To be run before the trees of this runner are left. */
  readonly leave: Effect.Effect<void>
}>() {
  /**
   * A runner. From now on it takes up trees that nobody works in: those that the engine assigns to it at once, others if
   * their runner does not.
   */
  static readonly layer = (
    options: ClusterOptions
  ): Layer.Layer<Cluster, ClusterUnavailable, Leases | Owner | Session | SessionStorage> =>
    Layer.scoped(Cluster, make(options)).pipe(
      Layer.provide(engine(options)),
      Layer.provide(database(options.database))
    )
}

const make = (options: ClusterOptions) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const owner = yield* Owner
    const members = yield* makeMembers({ owner: owner.id, url: options.url })
    const secret = options.secret ?? (yield* members.secret)
    const isMine = yield* placement
    const working = yield* FiberHandle.make()
    yield* FiberHandle.run(working, sweep({ isMine, stay: members.stay }))
    // The first to go: nothing is taken up while the rest ends.
    const leave = Effect.zipRight(FiberHandle.clear(working), members.leave)
    yield* Effect.addFinalizer(() => leave)
    return {
      url: options.url,
      secret,
      leave,
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
