/** Puts the steps of a tree where other hosts find them: one after the other, and the newest first. */
import { type TreeStep, WorkspaceRefused } from "@skein/core/Workspaces"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { GitPlace } from "../git/gitCommand.ts"
import type { StepGit, StepRemote } from "./stepGit.ts"

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

/** Pushes what waits until nothing does. `next` takes the newest. Once `isClosing` opens, nothing is tried again. */
export const pushAll = (
  git: StepGit,
  store: string,
  next: () => StepPush | undefined,
  isClosing: Effect.Latch
): Effect.Effect<void> => {
  const waited = (pause: Duration.DurationInput) =>
    Effect.raceFirst(Effect.as(Effect.sleep(pause), true), Effect.as(isClosing.await, false))

  const attempt = (push: StepPush, failures: number): Effect.Effect<void> =>
    pushStep(git, store, push).pipe(
      Effect.zipRight(push.told(undefined)),
      Effect.catchAll((error) => {
        const pause = error.reason === "superseded" ? undefined : pauses[failures]
        const complain = failures > 0 ? Effect.void : Effect.zipRight(
          Effect.logWarning(`A step of ${push.step.rootID} is not kept for other hosts`, error.message),
          push.told(error.message)
        )
        return Effect.zipRight(
          complain,
          pause === undefined
            ? Effect.void
            : Effect.flatMap(
              waited(pause),
              (isOn) => isOn ? attempt(next() ?? push, failures + 1) : Effect.void
            )
        )
      })
    )
  return Effect.suspend(() => {
    const push = next()
    return push === undefined ? Effect.void : Effect.zipRight(attempt(push, 0), pushAll(git, store, next, isClosing))
  })
}
