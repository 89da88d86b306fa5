/** Puts the steps of a tree where other hosts find them. */
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
