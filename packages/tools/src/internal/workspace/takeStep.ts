/** Takes up the last step of a tree of another host, and chooses the repository for the steps of a new tree. */
import { type WorkspaceKeeper, WorkspaceRefused } from "@skein/core/Workspaces"
import * as Effect from "effect/Effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { checkOut } from "./checkOut.ts"
import { userRepository } from "./readFiles.ts"
import { isRemoteName, remoteOf } from "./remoteUrl.ts"
import { stepMessage } from "./stepCommit.ts"
import { author, failed, type StepGit } from "./stepGit.ts"
import type { StepPlaces } from "./stepPlaces.ts"

/** The URL of a remote as the repository itself writes it. */
const urlOf = (git: StepGit, top: string, named: string) =>
  isRemoteName(named)
    ? Effect.flatMap(
      git.run({ directory: top }, ["config", "--get", `remote.${named}.url`]),
      ({ code, stdout }) =>
        code === 0 ? Effect.succeed(stdout.trim()) : failed(`The repository ${top} has no remote ${named}`)
    )
    : Effect.succeed(named)

/** Chooses the repository for a new tree. */
export const originOf = ({ git, local }: StepPlaces): WorkspaceKeeper["origin"] => (directory, settings) =>
  Effect.gen(function*() {
    const { inside, top } = yield* userRepository(git, directory)
    const url = yield* urlOf(git, top, settings.workspace_remote ?? "origin")
    const found = remoteOf(url, local)
    return "why" in found
      ? yield* failed(`The repository ${url} is not used: ${found.why}`)
      : { remote: found.url, inside }
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.as(
        Effect.logWarning(`The session in ${directory} stays on this host, although \`workspace\` is "git"`, message),
        undefined
      )
    )
  )

/** Makes a workspace with the last step. */
export const fetchStep =
  ({ git, isOn, remoteFor, roomOf }: StepPlaces): WorkspaceKeeper["fetch"] => (rootID, workspace) =>
    isOn
      ? Effect.flatMap(remoteFor(rootID, workspace), (remote) =>
        checkOut(git, roomOf(rootID), { rootID, workspace }, remote))
      : Effect.fail(
        new WorkspaceRefused({
          reason: "off",
          message: "`workspace` is not \"git\" in the config of the user of this host"
        })
      )

/** Puts the same step there again, in the name of a later holder. */
export const claimStep = ({ git, remoteFor }: StepPlaces): WorkspaceKeeper["claim"] =>
  Effect.fnUntraced(function*(rootID, workspace, { commit, seq, top }, epoch) {
    const remote = yield* remoteFor(rootID, workspace)
    const place = { directory: top, variables: { GIT_DIR: join(top, ".git"), ...author } }
    const found = yield* git.stepAt(place, commit)
    if (found === undefined) return yield* failed(`${commit} holds no step`)
    const { branch, head, tree } = found
    const own = yield* git.ask("claim the step", place, [
      ...["commit-tree", ...(head === undefined ? [] : ["-p", head])],
      ...["-m", stepMessage({ rootID, epoch, seq, branch }), tree]
    ])
    if (yield* git.push(place, remote, own, commit)) return
    return yield* new WorkspaceRefused({
      reason: "superseded",
      message: `${remote.ref} of ${remote.url} has changed since it was fetched`
    })
  })

/** Removes a workspace. */
export const discardStep: WorkspaceKeeper["discard"] = ({ top }) =>
  Effect.promise(() => rm(top, { recursive: true, force: true }))
