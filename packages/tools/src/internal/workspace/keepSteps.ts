/**
 * Owns the steps that this process keeps: for each tree what is being read, what is done with what is kept of it, and
 * how it gets to where other hosts find it. Of jobs that wait, only the newest runs.
 */
import { FairSemaphore } from "@skein/core/Fibers"
import { type TreeStep, type WorkspaceKeeper, WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { rm } from "node:fs/promises"
import { type GitPlace, makeGit } from "../git/gitCommand.ts"
import { claimStep, discardStep, ensureStore, fetchStep, originOf, readFiles } from "./stepFiles.ts"
import {
  failed,
  type KeeperOptions,
  makeStepGit,
  type StepGit,
  type StepPlaces,
  stepPlaces,
  type StepRemote
} from "./stepGit.ts"

/** What runs jobs. */
export interface NewestJobs<Key, Job> {
  /** Runs a job now, or after the one that runs. It replaces one that waits. */
  readonly offer: (key: Key, job: Job) => Effect.Effect<void>
  /** Whether a job waits. */
  readonly hasNewer: (key: Key) => boolean
  /** Waits until no job runs or waits. */
  readonly settled: Effect.Effect<void>
}

/**
 * Makes it. A job gets what the one before it gave, and the first one `initial`. A job that dies is logged, and the next
 * one runs. Jobs are interrupted when the scope closes.
 */
export const makeNewestJobs = <Key, Job, State>(
  initial: State,
  run: (key: Key, job: Job, before: State) => Effect.Effect<State>
): Effect.Effect<NewestJobs<Key, Job>, never, Scope.Scope> =>
  Effect.map(FiberSet.make(), (running) => {
    const waiting = new Map<Key, Job>()
    const active = new Set<Key>()

    const drain = (key: Key, before: State): Effect.Effect<void> =>
      Effect.suspend(() => {
        const job = waiting.get(key)
        if (job === undefined) {
          // In the same moment: from now on, an offer has to start its job.
          active.delete(key)
          return Effect.void
        }
        waiting.delete(key)
        return run(key, job, before).pipe(
          Effect.catchAllDefect((defect) =>
            Effect.as(Effect.logError(`Work in the background for ${String(key)} failed`, defect), initial)
          ),
          Effect.flatMap((after) => drain(key, after))
        )
      })

    return {
      offer: (key, job) =>
        Effect.suspend(() => {
          waiting.set(key, job)
          if (active.has(key)) return Effect.void
          active.add(key)
          return Effect.asVoid(FiberSet.run(running, drain(key, initial)))
        }),
      hasNewer: (key) => waiting.has(key),
      settled: FiberSet.awaitEmpty(running)
    }
  })

/** A commit to put there. */
export interface StepPush {
  readonly step: TreeStep
  readonly commit: string
  readonly remote: StepRemote
  readonly told: (failure: string | undefined) => Effect.Effect<void>
}

/** How long to wait before a push is tried again, and how often. */
const pauses = ["1 second", "4 seconds", "15 seconds"] as const

/** What is there by now, if that is not what was expected. Fails if a later holder put it there. */
const presentStep = Effect.fnUntraced(function*(git: StepGit, place: GitPlace, { remote, step }: StepPush) {
  const commit = yield* git.fetch(place, remote)
  if (commit === undefined) return undefined
  const present = yield* git.stepAt(place, commit)
  if (present?.rootID !== step.rootID || present.epoch > step.epoch) {
    return yield* new WorkspaceRefused({
      reason: "superseded",
      message: `${remote.ref} of ${remote.url} holds a step of another server, which took the session up later`
    })
  }
  return commit
})

/** Puts a commit there, in place of a step of this holder or an earlier one. */
const pushStep = Effect.fnUntraced(function*(git: StepGit, store: string, push: StepPush) {
  const { commit, remote } = push
  const place: GitPlace = { directory: store, variables: { GIT_DIR: store } }
  const known = yield* git.run(place, ["rev-parse", "--verify", "--quiet", remote.ref])
  const last = known.code === 0 ? known.stdout.trim() : undefined
  if (!(yield* git.push(place, remote, commit, last))) {
    const present = yield* presentStep(git, place, push)
    if (!(yield* git.push(place, remote, commit, present))) {
      return yield* new WorkspaceRefused({
        reason: "failed",
        message: `${remote.ref} of ${remote.url} is being changed by others`
      })
    }
  }
  // What this store expects to be there next time.
  yield* git.ask("note what was pushed", place, ["update-ref", remote.ref, commit])
})

/** What decides whether a push is tried again. */
interface PushPatience {
  /** Once it opens, nothing is tried again. */
  readonly isClosing: Effect.Latch
  /** Whether a later step waits. */
  readonly hasNewer: () => boolean
}

/**
 * Pushes a step, and tries again until it is there or a later one waits. Gives how often pushes have failed in a row,
 * including those `before`, if the later one continues the count.
 */
export const pushAgain = (
  git: StepGit,
  store: string,
  push: StepPush,
  before: number,
  { hasNewer, isClosing }: PushPatience
): Effect.Effect<number> => {
  const waited = (pause: Duration.DurationInput) =>
    Effect.raceFirst(Effect.as(Effect.sleep(pause), true), Effect.as(isClosing.await, false))

  const complain = ({ message }: WorkspaceRefused) =>
    Effect.zipRight(
      Effect.logWarning(`A step of ${push.step.rootID} is not kept for other hosts`, message),
      push.told(message)
    )

  const attempt = (failures: number): Effect.Effect<number> =>
    Effect.matchEffect(pushStep(git, store, push), {
      onSuccess: () => Effect.as(push.told(undefined), 0),
      onFailure: (error) => {
        if (error.reason === "superseded") return Effect.as(complain(error), 0)
        const pause = pauses[failures]
        const again = pause === undefined
          ? Effect.succeed(0)
          : Effect.flatMap(waited(pause), (isOn) => {
            if (!isOn) return Effect.succeed(0)
            return hasNewer() ? Effect.succeed(failures + 1) : attempt(failures + 1)
          })
        return failures > 0 ? again : Effect.zipRight(complain(error), again)
      }
    })
  return attempt(before)
}

/** How long a process that ends waits for steps that are being pushed. */
const grace = "5 seconds"

/** How long the files of a step may take to read. */
const patience = "30 seconds"

/** What is to be done with what is kept of a tree: a step replaces it, or it is removed. */
type StepJob =
  | { readonly _tag: "Push"; readonly push: StepPush }
  | { readonly _tag: "Removal"; readonly removal: Effect.Effect<void> }

/** Makes what keeps steps. Those that are being pushed have some time to arrive when the scope closes. */
const makePushes = Effect.fnUntraced(function*({ git, remoteFor, storeOf }: StepPlaces) {
  const isClosing = yield* Effect.makeLatch()
  const jobs: NewestJobs<SessionID, StepJob> = yield* makeNewestJobs(
    0,
    (rootID: SessionID, job: StepJob, failures) =>
      job._tag === "Removal"
        ? Effect.as(job.removal, 0)
        : pushAgain(git, storeOf(rootID), job.push, failures, { isClosing, hasNewer: () => jobs.hasNewer(rootID) })
  )
  const arrived = Effect.timeoutTo(jobs.settled, {
    duration: grace,
    onSuccess: () => Effect.void,
    onTimeout: () => Effect.logWarning(`Steps of sessions were still being pushed after ${grace}`)
  })
  yield* Effect.addFinalizer(() => Effect.zipRight(isClosing.open, Effect.flatten(arrived)))
  /** The files of a tree are read by one step after the other: they share an index. */
  const locks = new Map<SessionID, FairSemaphore>()
  const alone = (rootID: SessionID) => {
    const lock = locks.get(rootID) ?? new FairSemaphore(1)
    locks.set(rootID, lock)
    return lock.withPermit
  }

  const keep: WorkspaceKeeper["keep"] = (step, told) =>
    Effect.gen(function*() {
      const remote = yield* remoteFor(step.rootID, step.workspace)
      const commit = yield* alone(step.rootID)(readFiles(git, storeOf(step.rootID), step)).pipe(
        Effect.timeoutFail({
          duration: patience,
          onTimeout: () => failed(`The files in ${step.directory} could not be read within ${patience}`)
        })
      )
      yield* jobs.offer(step.rootID, { _tag: "Push", push: { step, commit, remote, told } })
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.zipRight(
          Effect.logWarning(`A step of ${step.rootID} is not kept for other hosts`, message),
          told(message)
        )
      )
    )

  const remove = (rootID: SessionID, workspace: SessionWorkspace) =>
    Effect.gen(function*() {
      const remote = yield* remoteFor(rootID, workspace)
      const store = storeOf(rootID)
      yield* ensureStore(git, store)
      yield* git.remove({ directory: store, variables: { GIT_DIR: store } }, remote)
      yield* Effect.promise(() => rm(store, { recursive: true, force: true }))
    }).pipe(
      Effect.catchAll(({ message }) => Effect.logWarning(`The last step of ${rootID} could not be removed`, message))
    )

  const forget: WorkspaceKeeper["forget"] = (rootID, workspace) =>
    Effect.suspend(() => {
      locks.delete(rootID)
      // After the push that is under way: it would put the step there again.
      return jobs.offer(rootID, { _tag: "Removal", removal: remove(rootID, workspace) })
    })

  return { keep, forget, settled: jobs.settled }
})

/** Makes the keeper of this process. */
export const makeKeeper = Effect.fnUntraced(function*(options: KeeperOptions) {
  const { environment } = options
  const places = stepPlaces(makeStepGit(yield* makeGit(environment), environment), options)
  return {
    ...(yield* makePushes(places)),
    origin: originOf(places),
    fetch: fetchStep(places),
    claim: claimStep(places),
    discard: discardStep
  } satisfies WorkspaceKeeper
})
