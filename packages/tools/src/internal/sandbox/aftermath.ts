/**
 * Checks after a command what the sandbox could not prevent: repositories that it created, unfinished rebases, and protected
 * names that are links. Unapproved files are moved away and reported.
 */
import * as NodeFs from "node:fs"
import { dirname, join, resolve } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"
import { isIn } from "../within.ts"
import { findRepositories, type FoundRepositories } from "./nestedRepositories.ts"
import {
  aside,
  checkNewBare,
  checkNewGit,
  checkNewWorktree,
  checkPlans,
  isBare,
  noPlans,
  plansIn,
  warningOf
} from "./repositoryChecks.ts"

/** What is recorded of a tree before a command. */
interface Before {
  readonly directory: string
  /** The names at its top that are protected, except `.git`. */
  readonly names: ReadonlyArray<string>
  /** The directories of git in it. */
  readonly repositories: ReadonlyArray<string>
  /** Where git keeps what it does next. */
  readonly states: ReadonlyArray<string>
  /** The repositories below its top. */
  readonly found: FoundRepositories
  /** Whether directories whose name begins with a dot were looked at. */
  readonly hidden: boolean
  readonly approved: ReadonlyArray<string>
  /** Whether a command that runs now may change a path. */
  readonly isApproved: (path: string) => boolean
}

const linkAt = (path: string) => attempt(() => NodeFs.readlinkSync(path), undefined)

/** Puts links back where they were. */
const watchLinks = (
  { approved, directory, names }: Pick<Before, "approved" | "directory" | "names">
): () => ReadonlyArray<string> => {
  const isApproved = (path: string) => approved.some((each) => isIn(each, path) || isIn(path, each))
  const links = [...names, ".git"].map((name) => join(directory, name)).flatMap((path) => {
    const target = linkAt(path)
    return target === undefined || isApproved(path) ? [] : [{ path, target }]
  })
  return () =>
    links.flatMap(({ path, target }) =>
      attempt(() => {
        if (linkAt(path) === target) return []
        const isThere = lstatOf(path) !== undefined
        const to = isThere ? aside(path) : path
        NodeFs.symlinkSync(target, path)
        return isThere
          ? [warningOf(directory, path, to, `it is a link to ${resolve(dirname(path), target)} again`)]
          : []
      }, [])
    )
}

/** Checks the repositories that are new, at the top and below it. */
const watchNew = (
  { approved, directory, found, hidden, isApproved, repositories }: Before
): () => ReadonlyArray<string> => {
  const begun = attempt(() => NodeFs.statSync("/proc/self").ctimeMs, 0)
  const git = join(directory, ".git")
  const isTopNew = lstatOf(git) === undefined && !approved.some((each) => isIn(each, git))
  const isTopBare = isBare(directory)
  // Where not all was seen before, only what certainly was not there is new: nothing of the user's is moved away.
  const wasSeen = (parent: string) =>
    found.isComplete || found.looked.has(parent) || (begun > 0 && (lstatOf(parent)?.birthtimeMs ?? 0) > begun)
  return () => {
    const now = findRepositories(directory, hidden)
    const isNew =
      (known: FoundRepositories["named"], parent: (path: string) => string) =>
      ([path, inode]: readonly [string, number]) =>
        known.get(path) !== inode && wasSeen(parent(path)) && !isApproved(path)
    const named = [...now.named].filter(isNew(found.named, dirname)).map(([path]) => path)
    const bare = [...now.bare].filter(isNew(found.bare, (path) => path)).map(([path]) => path)
    const top = isTopNew ? [git] : []
    return [
      ...(found.isComplete && !now.isComplete
        ? [
          "This command made more directories than are checked for new repositories. Look for `.git` before you run git there."
        ]
        : []),
      ...[...top, ...named].flatMap((path) => attempt(() => checkNewGit(directory, path, repositories), [])),
      ...[...(isTopBare || !isBare(directory) ? [] : [directory]), ...bare].flatMap((path) =>
        attempt(() => checkNewBare(directory, path), [])
      ),
      ...[...top, ...named, ...bare].flatMap((path) => attempt(() => checkPlans(directory, path, noPlans), []))
    ]
  }
}

/** Checks what git would run in the known repositories when it continues, and new worktrees of them. */
const watchStates = ({ directory, isApproved, repositories, states }: Before): () => ReadonlyArray<string> => {
  const plans = states.map((git) => [git, plansIn(git)] as const)
  const treesOf = (git: string) =>
    attempt(() => NodeFs.readdirSync(join(git, "worktrees")), []).map((name) => join(git, "worktrees", name))
  const known = new Set(repositories.flatMap(treesOf))
  return () => [
    ...plans.filter(([git]) => !isApproved(join(git, "rebase-merge"))).flatMap(([git, before]) =>
      attempt(() => checkPlans(directory, git, before), [])
    ),
    ...repositories.flatMap(treesOf).filter((path) => !known.has(path) && !isApproved(path)).flatMap((path) =>
      attempt(() => checkNewWorktree(directory, path), [])
    )
  ]
}

/** Records a tree before a command. Returns the check that runs afterwards and reports what it moved away. */
export const aftermath = (before: Before): () => ReadonlyArray<string> => {
  const { approved, directory, repositories } = before
  const links = watchLinks(before)
  // It makes git use the config and the hooks of another directory. An empty file in its place would break git.
  const elsewhere = repositories.map((each) => join(each, "commondir"))
    .filter((path) => !approved.some((each) => isIn(each, path) || isIn(path, each)) && lstatOf(path) === undefined)
  const news = watchNew(before)
  const states = watchStates(before)
  return () => [
    ...links(),
    ...elsewhere.flatMap((path) =>
      attempt(() => [warningOf(directory, path, aside(path), "git would work by another directory")], [])
    ),
    ...states(),
    ...news()
  ]
}
