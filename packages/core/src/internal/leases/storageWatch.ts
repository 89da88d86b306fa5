/** Decides from the requests to the storage whether it is away: nothing ends, or what ends has failed because of it. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type AwakeTime, awakeTime, between, later } from "../../MonotonicClock.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import { isFault, isOutage, type StorageError } from "../../StorageError.ts"
import type { StorageHealth, StorageTrouble } from "../../StorageHealth.ts"

/** The kinds of requests. A database that is full still reads, and one whose commits wait still renews leases. */
type Lane = "commits" | "renewals" | "reads"

/** Watches one request. */
type Watch = <A>(lane: Lane, request: Effect.Effect<A, StorageError>) => Effect.Effect<A, StorageError>

/** How often to look, in milliseconds. */
const pace = 1_000

/** How long requests may wait before the storage counts as away (ms): longer than a slow disk takes. */
const patience = 3_000

/** How long a failure counts without another request that shows how it is now (ms). */
const memory = 10_000

/** The requests of one kind. */
interface Requests {
  waiting: number
  /** When one last ended, or when the first of them began. */
  ended: AwakeTime
  /** When one last ended well, or when the first of them began. */
  since: AwakeTime
  failed: AwakeTime | undefined
}

const madeAt = (now: AwakeTime): Requests => ({ waiting: 0, ended: now, since: now, failed: undefined })

/** How the storage does. */
export class StorageWatch {
  readonly #clock: Clock.Clock
  readonly #lanes: Readonly<Record<Lane, Requests>>
  #looked: AwakeTime

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    const now = awakeTime(clock)
    this.#looked = now
    this.#lanes = { commits: madeAt(now), renewals: madeAt(now), reads: madeAt(now) }
  }

  /**
   * For how long it has been away, in milliseconds; 0 if it answers. To be called at its pace: a late look counts as one in
   * time. Meanwhile this process had too much to do, and what has arrived is read after the look.
   */
  look(): number {
    const now = awakeTime(this.#clock)
    const late = Math.max(0, between(this.#looked, now) - pace)
    this.#looked = now
    return Object.values(this.#lanes).reduce((longest, requests) => {
      requests.since = later(requests.since, Math.min(late, between(requests.since, now)))
      return Math.max(longest, awayIn(requests, now))
    }, 0)
  }

  /** For how long no commit has ended although one waits, in milliseconds; 0 if none waits. */
  get stalled(): number {
    const { ended, waiting } = this.#lanes.commits
    return waiting === 0 ? 0 : between(ended, awakeTime(this.#clock))
  }

  /** Watches requests; `failed` is called before the caller gets an error that the storage is to blame for. */
  watch(failed: (error: StorageError) => Effect.Effect<void>): Watch {
    return (lane, request) => {
      const requests = this.#lanes[lane]
      const note = (failure?: AwakeTime) => {
        requests.waiting--
        requests.failed = failure
        requests.ended = awakeTime(this.#clock)
        if (failure === undefined) requests.since = requests.ended
      }
      const fail = (cause: Cause.Cause<StorageError>): Effect.Effect<never, StorageError> => {
        const error = Option.getOrUndefined(Cause.failureOption(cause))
        // It was not waited for any longer, which says nothing about the storage.
        if (error === undefined) {
          requests.waiting--
          requests.ended = awakeTime(this.#clock)
          // A reader may meet a damaged page that the work here has nothing to do with.
        } else if (lane === "reads" ? isOutage(error) : isFault(error)) {
          note(awakeTime(this.#clock))
          return Effect.zipRight(failed(error), Effect.failCause(cause))
        } else note()
        return Effect.failCause(cause)
      }
      const watched = (asked: typeof request) => {
        if (requests.waiting++ === 0) {
          requests.ended = awakeTime(this.#clock)
          if (requests.failed === undefined) requests.since = requests.ended
        }
        return Effect.matchCauseEffect(asked, {
          onFailure: fail,
          onSuccess: (value) => {
            note()
            return Effect.succeed(value)
          }
        })
      }
      // Most commits cannot be interrupted anyway.
      return Effect.checkInterruptible((isInterruptible) =>
        isInterruptible ? Effect.uninterruptibleMask((restore) => watched(restore(request))) : watched(request)
      )
    }
  }
}

const awayIn = ({ failed, since, waiting }: Requests, now: AwakeTime): number => {
  const isSilent = waiting > 0 && between(since, now) >= patience
  const hasFailed = failed !== undefined && between(failed, now) < memory
  return isSilent || hasFailed ? between(since, now) : 0
}

type Storage = Context.Tag.Service<SessionStorage>

/** The same storage, watched. Pruning takes as long as it takes, so nothing follows from that. */
export const watchedStorage = (storage: Storage, watch: Watch): Storage => ({
  commit: (writes, onStored) =>
    watch(writes.every(({ _tag }) => _tag === "Renew") ? "renewals" : "commits", storage.commit(writes, onStored)),
  ...(storage.intact === undefined ? {} : { intact: storage.intact }),
  ...(storage.mail === undefined ? {} : { mail: watch("reads", storage.mail) }),
  waiting: (rootID) => watch("reads", storage.waiting(rootID)),
  control: (id) => watch("reads", storage.control(id)),
  unfinished: watch("reads", storage.unfinished),
  session: (id) => watch("reads", storage.session(id)),
  ids: (of, start, limit) => watch("reads", storage.ids(of, start, limit)),
  lease: (rootID) => watch("reads", storage.lease(rootID)),
  leases: (rootIDs) => watch("reads", storage.leases(rootIDs)),
  sessions: (filter) => watch("reads", storage.sessions(filter)),
  messages: (id) => watch("reads", storage.messages(id)),
  messagePage: (id, page) => watch("reads", storage.messagePage(id, page)),
  run: (id) => watch("reads", storage.run(id)),
  runs: (filter) => watch("reads", storage.runs(filter)),
  inbox: (id) => watch("reads", storage.inbox(id)),
  events: (filter) => watch("reads", storage.events(filter)),
  eventRange: (rootID) => watch("reads", storage.eventRange(rootID)),
  receipt: (key) => watch("reads", storage.receipt(key)),
  prune: storage.prune,
  approvals: (projectID, rootID) => watch("reads", storage.approvals(projectID, rootID)),
  todos: (id) => watch("reads", storage.todos(id))
})

/** How often the log repeats that the storage is still away, in milliseconds. */
const repetition = 30_000

const inSeconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`

/** Makes the service. A storage that only this process can reach does not go away, and needs no look. */
export const makeHealth = (
  watch: StorageWatch,
  isWatched: boolean
): Effect.Effect<Context.Tag.Service<StorageHealth>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const listeners = new Set<(trouble: StorageTrouble | undefined) => void>()
    let trouble: StorageTrouble | undefined
    let longest = 0
    let logged = 0
    const look = Effect.suspend(() => {
      const away = watch.look()
      if (away === 0 && longest === 0) return Effect.void
      const before = longest
      longest = away
      trouble = away === 0 ? undefined : { since: clock.unsafeCurrentTimeMillis() - away }
      if (away === 0) {
        for (const notify of [...listeners]) notify(undefined)
        return Effect.logInfo(`The storage answers again, after ${inSeconds(before)}`)
      }
      if (before === 0) {
        logged = away
        for (const notify of [...listeners]) notify(trouble)
        return Effect.logWarning("The storage does not answer: work waits for it, and is repeated")
      }
      if (away - logged < repetition) return Effect.void
      logged = away
      return Effect.logWarning(`The storage has not answered for ${inSeconds(away)}`)
    })
    if (isWatched) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), look)))
    return {
      trouble: () => trouble,
      onChange: (notify) => {
        listeners.add(notify)
        return () => void listeners.delete(notify)
      }
    }
  })
