/**
 * Takes up the last step of a tree of another host, in a repository of its own in which only the branch of the session
 * is, and chooses the repository for the steps of a new tree.
 */
import { type FetchedStep, type WorkspaceKeeper, WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises"
import { join, sep } from "node:path"
import type { GitPlace } from "../git/gitCommand.ts"
import { userRepository } from "./readFiles.ts"
import { author, failed, type StepGit, stepMessage, type StepRemote } from "./stepGit.ts"
import { isRemoteName, remoteOf, type StepPlaces } from "./stepPlaces.ts"

/** What no workspace has. */
const omits = [
  "Files that git ignores, such as dependencies and build results, are not in it",
  "What was in submodules, in repositories within the repository, and in the store of large files (LFS) may not be in it",
  "Other branches, tags and stashes, the hooks of git and its settings are not in it"
]

const files = <A>(what: string, act: () => Promise<A>) =>
  Effect.tryPromise({
    try: act,
    catch: (cause) => failed(`Could not ${what}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/** The directory of the session in a workspace. One that a link leads out of it is refused. */
const directoryIn = (top: string, inside: string) =>
  files("make the directory of the session", async () => {
    const directory = join(top, inside)
    if (directory !== top && !directory.startsWith(top + sep)) throw new Error(`${inside} is not in the repository`)
    // It is not there yet if nothing in it is tracked.
    const real = await realpath(directory).catch(() => undefined)
    if (real === undefined) await mkdir(directory, { recursive: true })
    const found = await realpath(directory)
    if (found !== directory) throw new Error(`${inside} leads to ${found}`)
    return found
  })

/** Fetches the last step of a tree, and checks its files out into a new directory below `at`. */
const checkOut = Effect.fnUntraced(function*(
  git: StepGit,
  at: string,
  tree: { readonly rootID: SessionID; readonly workspace: SessionWorkspace },
  remote: StepRemote
) {
  const top = yield* files("make a workspace", async () => {
    await mkdir(at, { recursive: true, mode: 0o700 })
    return realpath(await mkdtemp(join(at, "tree-")))
  })
  const place: GitPlace = { directory: top, variables: { GIT_DIR: join(top, ".git"), GIT_WORK_TREE: top } }
  const ask = (args: ReadonlyArray<string>) => git.ask("make a workspace", place, args)
  const making = Effect.gen(function*() {
    yield* ask(["init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main"])
    const commit = yield* git.fetch(place, remote)
    if (commit === undefined) {
      return yield* new WorkspaceRefused({
        reason: "nothing",
        message: `No step of the session is kept: ${remote.ref} is not in ${remote.url}`
      })
    }
    const step = yield* git.stepAt(place, commit)
    if (step === undefined || step.rootID !== tree.rootID) {
      return yield* failed(`${remote.ref} of ${remote.url} holds no step of this session`)
    }
    const { branch, head } = step
    if (branch !== undefined) yield* ask(["symbolic-ref", "HEAD", `refs/heads/${branch}`])
    // Without a branch, HEAD names the commit itself.
    if (head !== undefined) yield* ask(["update-ref", ...(branch === undefined ? ["--no-deref"] : []), "HEAD", head])
    yield* ask(["config", "remote.origin.url", remote.url])
    yield* ask(["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"])
    yield* ask(["read-tree", "--reset", "-u", commit])
    // What was not committed is not staged either.
    yield* ask(head === undefined ? ["read-tree", "--empty"] : ["read-tree", head])
    const directory = yield* directoryIn(top, tree.workspace.inside)
    return { directory, top, commit, epoch: step.epoch, seq: step.seq, omits } satisfies FetchedStep
  })
  return yield* Effect.onError(making, () => Effect.promise(() => rm(top, { recursive: true, force: true })))
})

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
