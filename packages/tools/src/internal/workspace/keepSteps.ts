/** Owns the steps that this process keeps: for each tree what is being read, and what is done with what is kept of it. */
import { FairSemaphore } from "@skein/core/Fibers"
import type { WorkspaceKeeper } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { rm } from "node:fs/promises"
import { makeGit } from "../git/gitCommand.ts"
import { makeNewestJobs, type NewestJobs } from "./newestJobs.ts"
import { pushAgain, type StepPush } from "./pushSteps.ts"
import { ensureStore, readFiles } from "./readFiles.ts"
import { failed, makeStepGit } from "./stepGit.ts"
import { type KeeperOptions, type StepPlaces, stepPlaces } from "./stepPlaces.ts"
import { claimStep, discardStep, fetchStep, originOf } from "./takeStep.ts"

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
