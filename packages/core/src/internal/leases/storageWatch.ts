/** Decides from the requests to the storage whether it is away: nothing ends, or what ends has failed because of it. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { elapsed } from "../../MonotonicClock.ts"
import { isFault, isOutage, type StorageError } from "../../StorageError.ts"
import type { Lane, Watch } from "./watchedStorage.ts"

/** How often to look, in milliseconds. */
export const pace = 1_000

/** How long requests may wait before the storage counts as away (ms): longer than a slow disk takes. */
const patience = 3_000

/** How long a failure counts without another request that shows how it is now (ms). */
const memory = 10_000

/** The requests of one kind. */
interface Requests {
  waiting: number
  /** When one last ended well, or when the first of them began. */
  since: number
  failed: number | undefined
}

const made = (): Requests => ({ waiting: 0, since: 0, failed: undefined })

/** How the storage does. */
export class StorageWatch {
  readonly #clock: Clock.Clock
  readonly #lanes: Readonly<Record<Lane, Requests>> = { commits: made(), renewals: made(), reads: made() }
  #looked: number

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    this.#looked = elapsed(clock)
  }

  /**
   * For how long it has been away, in milliseconds; 0 if it answers. To be called at its pace: a late look counts as one in
   * time. Meanwhile this process had too much to do, and what has arrived is read after the look.
   */
  look(): number {
    const now = elapsed(this.#clock)
    const late = Math.max(0, now - this.#looked - pace)
    this.#looked = now
    return Object.values(this.#lanes).reduce((longest, requests) => {
      requests.since = Math.min(now, requests.since + late)
      return Math.max(longest, awayIn(requests, now))
    }, 0)
  }

  /** Watches requests; `failed` is called before the caller gets an error that the storage is to blame for. */
  watch(failed: (error: StorageError) => Effect.Effect<void>): Watch {
    return (lane, request) => {
      const requests = this.#lanes[lane]
      const note = (failure?: number) => {
        requests.waiting--
        requests.failed = failure
        if (failure === undefined) requests.since = elapsed(this.#clock)
      }
      const fail = (cause: Cause.Cause<StorageError>): Effect.Effect<never, StorageError> => {
        const error = Option.getOrUndefined(Cause.failureOption(cause))
        // It was not waited for any longer, which says nothing about the storage.
        if (error === undefined) requests.waiting--
        // A reader may meet a damaged page that the work here has nothing to do with.
        else if (lane === "reads" ? isOutage(error) : isFault(error)) {
          note(elapsed(this.#clock))
          return Effect.zipRight(failed(error), Effect.failCause(cause))
        } else note()
        return Effect.failCause(cause)
      }
      return Effect.uninterruptibleMask((restore) => {
        if (requests.waiting++ === 0 && requests.failed === undefined) requests.since = elapsed(this.#clock)
        return Effect.matchCauseEffect(restore(request), {
          onFailure: fail,
          onSuccess: (value) => {
            note()
            return Effect.succeed(value)
          }
        })
      })
    }
  }
}

const awayIn = ({ failed, since, waiting }: Requests, now: number): number => {
  const isSilent = waiting > 0 && now - since >= patience
  const hasFailed = failed !== undefined && now - failed < memory
  return isSilent || hasFailed ? now - since : 0
}
