/** Owns the steps that this process keeps: for each tree what is being read, and what waits to be pushed. */
import type { WorkspaceKeeper } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { rm } from "node:fs/promises"
import { makeGit } from "../git/gitCommand.ts"
import { pushAll, type StepPush } from "./pushSteps.ts"
import { ensureStore, readFiles } from "./readFiles.ts"
import { failed, makeStepGit } from "./stepGit.ts"
import { type KeeperOptions, type StepPlaces, stepPlaces } from "./stepPlaces.ts"
import { claimStep, discardStep, fetchStep, originOf } from "./takeStep.ts"

/** How long a process that ends waits for steps that are being pushed. */
const grace = "5 seconds"

/** How long the files of a step may take to read. */
const patience = "30 seconds"

/** Makes what keeps steps. Those that are being pushed have some time to arrive when the scope closes. */
const makePushes = Effect.fnUntraced(function*({ git, remoteFor, storeOf }: StepPlaces) {
  const pushing = yield* FiberSet.make()
  const isClosing = yield* Effect.makeLatch()
  const arrived = Effect.timeoutTo(FiberSet.awaitEmpty(pushing), {
    duration: grace,
    onSuccess: () => Effect.void,
    onTimeout: () => Effect.logWarning(`Steps of sessions were still being pushed after ${grace}`)
  })
  yield* Effect.addFinalizer(() => Effect.zipRight(isClosing.open, Effect.flatten(arrived)))
  const waiting = new Map<SessionID, StepPush>()
  const active = new Set<SessionID>()
  /** The files of a tree are read by one step after the other: they share an index. */
  const locks = new Map<SessionID, Effect.Semaphore>()
  const alone = (rootID: SessionID) => {
    const lock = locks.get(rootID) ?? Effect.unsafeMakeSemaphore(1)
    locks.set(rootID, lock)
    return lock.withPermits(1)
  }

  const start = (rootID: SessionID): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (active.has(rootID)) return Effect.void
      active.add(rootID)
      const next = () => {
        const push = waiting.get(rootID)
        waiting.delete(rootID)
        return push
      }
      return Effect.asVoid(FiberSet.run(
        pushing,
        Effect.ensuring(pushAll(git, storeOf(rootID), next, isClosing), Effect.sync(() => active.delete(rootID)))
      ))
    })

  const keep: WorkspaceKeeper["keep"] = (step, told) =>
    Effect.gen(function*() {
      const remote = yield* remoteFor(step.rootID, step.workspace)
      const commit = yield* alone(step.rootID)(readFiles(git, storeOf(step.rootID), step)).pipe(
        Effect.timeoutFail({
          duration: patience,
          onTimeout: () => failed(`The files in ${step.directory} could not be read within ${patience}`)
        })
      )
      waiting.set(step.rootID, { step, commit, remote, told })
      yield* start(step.rootID)
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.zipRight(
          Effect.logWarning(`A step of ${step.rootID} is not kept for other hosts`, message),
          told(message)
        )
      )
    )

  const forget: WorkspaceKeeper["forget"] = (rootID, workspace) =>
    Effect.gen(function*() {
      waiting.delete(rootID)
      locks.delete(rootID)
      const remote = yield* remoteFor(rootID, workspace)
      const store = storeOf(rootID)
      yield* ensureStore(git, store)
      yield* git.remove({ directory: store, variables: { GIT_DIR: store } }, remote)
      yield* Effect.promise(() => rm(store, { recursive: true, force: true }))
    }).pipe(
      Effect.catchAll(({ message }) => Effect.logWarning(`The last step of ${rootID} could not be removed`, message)),
      (forgetting) => Effect.asVoid(FiberSet.run(pushing, forgetting))
    )

  return { keep, forget, settled: FiberSet.awaitEmpty(pushing) }
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
