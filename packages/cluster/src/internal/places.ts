/** Decides where a tree may be taken up: where its directory is, or anywhere if it needs none. */
import * as SqlClient from "@effect/sql/SqlClient"
import { needsNoDirectory } from "@skein/core/Anywhere"
import { Journal } from "@skein/core/Journal"
import { Leases } from "@skein/core/Leases"
import { setWaitingTrees } from "@skein/core/Metrics"
import { missingModels, missingText } from "@skein/core/ModelChoice"
import { Projects } from "@skein/core/Projects"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { type Awaited, machineKey, Whereabouts } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { awayFrom, awayText, type Elsewhere, elsewhereOf, isBeside } from "./away.ts"
import type { Member } from "./entries.ts"
import { makeProofs } from "./proofs.ts"

/** Where the directory of a tree is, if no runner is there. */
export interface Away extends Elsewhere {
  readonly _tag: "Away"
}

/** Its directory is here, but not a model with which its unfinished work began: only a runner that has it may continue. */
export interface Unable {
  readonly _tag: "Unable"
  readonly cause: string
}

/** Where a tree may be taken up: by this runner, by the one at an address, or by none that is there. */
export type Place = { readonly _tag: "Here" } | { readonly _tag: "There"; readonly url: string } | Away | Unable

/** For how long trees that wait are kept in the table after they were last seen. */
const kept = "1 hour"

/** Tells the clients of this runner which trees nobody continues and why, and which are continued. */
const makeWaits = Effect.gen(function*() {
  const journal = yield* Journal
  const session = yield* Session
  const clock = yield* Effect.clock
  const sql = yield* SqlClient.SqlClient
  const awaited = new Map<SessionID, Awaited>()
  /** What was stopped, or continues, is listed no longer. */
  const removed = (rootID: SessionID) =>
    Effect.catchAll(
      Effect.asVoid(sql`DELETE FROM cluster_waiting WHERE root_id = ${rootID}`),
      ({ message }) => Effect.logWarning("What a tree no longer waits for is still listed for a minute", message)
    )
  const tell = (rootID: SessionID, status: SessionStatus) =>
    journal.tell({ id: rootID, rootID, depth: 0 }, "session.status", { status }, clock.unsafeCurrentTimeMillis())
  const begin = (rootID: SessionID, status: Awaited) => {
    awaited.set(rootID, status)
    tell(rootID, status)
  }
  const count = (type: Awaited["type"]) =>
    setWaitingTrees(type, [...awaited.values()].filter((each) => each.type === type).length)
  // A prompt may have taken it up here.
  const end = (rootID: SessionID) =>
    Effect.suspend(() =>
      awaited.delete(rootID)
        ? Effect.zipRight(
          removed(rootID),
          Effect.map(session.status(rootID), (status) => tell(rootID, status))
        )
        : Effect.void
    )
  return {
    awaited: (rootID: SessionID) => awaited.get(rootID),
    begin: (rootID: SessionID, { directory, host }: Away) => {
      if (!awaited.has(rootID)) begin(rootID, { type: "away", host, directory })
    },
    // Whether a tree can be continued again is known only after the next try.
    over: (rootID: SessionID) => Effect.suspend(() => awaited.get(rootID)?.type === "away" ? end(rootID) : Effect.void),
    keep: (free: ReadonlySet<SessionID>, stuck: ReadonlyMap<SessionID, string>) =>
      Effect.suspend(() => {
        for (const [rootID, cause] of stuck) {
          const known = awaited.get(rootID)
          if (known === undefined || (known.type === "stuck" && known.cause !== cause)) {
            begin(rootID, { type: "stuck", cause })
          }
        }
        const over = [...awaited].flatMap(([rootID, { type }]) =>
          (type === "away" ? free : stuck).has(rootID) ? [] : [rootID]
        )
        return Effect.zipRight(
          Effect.forEach(over, end, { discard: true }),
          Effect.sync(() => {
            count("away")
            count("stuck")
          })
        )
      })
  }
})

/** Decides whether a tree whose directory is here can continue here: its models have to be set up as well. */
const makeAble = (url: string) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<Projects | SessionStorage>()
    const storage = yield* SessionStorage
    return ({ directory, id }: SessionInfo): Effect.Effect<Place, StorageError> =>
      Effect.gen(function*() {
        if (!(yield* storage.unfinished).includes(id)) return { _tag: "Here" } as const
        // Where its project cannot be opened, taking it up fails and says why.
        const [missing] = yield* Effect.catchTag(
          Projects.use(directory, missingModels(id)),
          "ProjectUnavailable",
          () => Effect.succeed([])
        )
        return missing === undefined
          ? { _tag: "Here" } as const
          : { _tag: "Unable", cause: missingText(missing, `at ${url}`) } as const
      }).pipe(Effect.provide(context))
  })

/** Makes what decides it for the runner at this address. From now on this runner also proves that it sees the directories of the trees that it holds. */
export const makePlaces = (url: string, others: Effect.Effect<ReadonlyArray<Member>>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const told = new Set<SessionID>()
    const projects = yield* Projects

    const isAway = awayFrom(leases.machine, yield* makeProofs)
    const waits = yield* makeWaits
    const able = yield* makeAble(url)
    ;(yield* Whereabouts).decideBy({
      isAway,
      awaited: waits.awaited,
      explain: (root) => Effect.succeed(awayText(root.id, elsewhereOf(root, leases.machine)))
    })

    /** Whether the agent of a tree needs no directory by the config of this host either. */
    const isFree = (info: SessionInfo): Effect.Effect<boolean> =>
      Projects.use(info.directory, needsNoDirectory(info.agent, info)).pipe(
        Effect.provideService(Projects, projects),
        // Where its project cannot be opened the tree waits, and that is said.
        Effect.orElseSucceed(() => false)
      )

    const notes = (rootID: SessionID, away: Away): Effect.Effect<void> =>
      Effect.gen(function*() {
        waits.begin(rootID, away)
        yield* sql`INSERT INTO cluster_waiting (root_id, host, directory, seen)
          VALUES (${rootID}, ${machineKey(away)}, ${away.directory}, clock_timestamp())
          ON CONFLICT (root_id) DO UPDATE SET seen = excluded.seen`
        yield* sql.unsafe(`DELETE FROM cluster_waiting WHERE seen < clock_timestamp() - interval '${kept}'`)
      }).pipe(
        Effect.catchAll(({ message }) => Effect.logWarning("What a tree waits for could not be stored", message))
      )

    return {
      /** Where a tree in which nobody works may be taken up. One that does not say its host is taken up anywhere. */
      of: (rootID: SessionID): Effect.Effect<Place, StorageError> =>
        Effect.gen(function*() {
          const info = Option.getOrUndefined(yield* storage.session(rootID))
          if (info === undefined) return { _tag: "Here" } as const
          if (info.host === undefined || !(yield* isAway(info))) return yield* able(info)
          const near = (yield* others).find(({ owner }) => isBeside(info)(owner))
          if (near !== undefined) return { _tag: "There", url: near.url } as const
          return info.anywhere === true && (yield* isFree(info))
            ? yield* able(info)
            : { _tag: "Away", ...elsewhereOf(info, leases.machine) } as const
        }),
      /** Notes that a tree with unfinished work waits for its host, or to be moved from there. */
      notes,
      /** The same, and logs what to do. */
      waits: (rootID: SessionID, away: Away): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (told.has(rootID)) return notes(rootID, away)
          told.add(rootID)
          return Effect.zipRight(Effect.logWarning(awayText(rootID, away)), notes(rootID, away))
        }),
      /** Notes that a tree no longer waits: it is taken up. */
      over: waits.over,
      /**
       * Notes that only these trees may still wait: nobody works in them, and they have unfinished work. Some of them are stuck,
       * for these causes.
       */
      keep: waits.keep
    }
  })

/** What decides where trees are taken up. */
export type Places = Effect.Effect.Success<ReturnType<typeof makePlaces>>
