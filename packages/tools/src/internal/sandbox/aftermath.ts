/**
 * Checks during and after a command what the sandbox could not prevent, since what does not exist cannot be mounted
 * over: protected names, repositories that it created, unfinished rebases, and links. What nobody approved is moved
 * away and reported.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { attempt, isIn, isThere, lstatOf, namesIn } from "../disk.ts"
import {
  aside,
  checkNewBare,
  checkNewGit,
  checkNewWorktree,
  checkPlans,
  findRepositories,
  type FoundRepositories,
  isBare,
  noPlans,
  plansIn,
  warningOf
} from "./repositories.ts"

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
        const isTaken = isThere(path)
        const to = isTaken ? aside(path) : path
        NodeFs.symlinkSync(target, path)
        return isTaken
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
  const treesOf = (git: string) => namesIn(join(git, "worktrees")).map((name) => join(git, "worktrees", name))
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

/** How often the same name is kept. Later ones are removed. */
const mostKept = 3

/** What is watched for one command. */
interface Watch {
  readonly directory: string
  /** Whether a name in it is protected. */
  readonly isNamed: (name: string) => boolean
  /** Those that were there before. */
  readonly before: ReadonlySet<string>
}

/**
 * The watches of this process's commands. What another command is creating counts as missing too, because nobody has
 * approved it.
 */
export class WatchedPaths {
  readonly #watches = new Set<Watch>()

  has(path: string): boolean {
    const [directory, name] = [dirname(path), basename(path)]
    return [...this.#watches].some((each) =>
      each.directory === directory && each.isNamed(name) && !each.before.has(name)
    )
  }

  add(watch: Watch): void {
    this.#watches.add(watch)
  }

  remove(watch: Watch): void {
    this.#watches.delete(watch)
  }
}

/** Watches until the scope closes. Returns the final check, which reports what was moved away. */
export const watchProtected = (
  options: Pick<Watch, "directory" | "isNamed"> & {
    /** The top of the tree. */
    readonly top: string
    /** Checked at each event: another call may have approval for what appears. */
    readonly isApproved: (path: string) => boolean
    readonly all: WatchedPaths
  }
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { all, directory, isApproved, isNamed } = options
        const before = new Set(namesIn(directory).filter((name) => isNamed(name) && !all.has(join(directory, name))))
        const watch: Watch = { directory, isNamed, before }
        all.add(watch)
        const taken = new Map<string, Array<string>>()
        const take = (name: string) => {
          const path = join(directory, name)
          if (!isNamed(name) || before.has(name) || !isThere(path) || isApproved(path)) return
          attempt(() => {
            const kept = taken.get(name) ?? []
            taken.set(name, kept)
            if (kept.length < mostKept) kept.push(aside(path))
            else NodeFs.rmSync(path, { recursive: true, force: true })
          }, undefined)
        }
        // If nothing can be watched, only the final check remains.
        const watcher = attempt(
          () => NodeFs.watch(directory, { persistent: false }, (_, name) => name === null ? undefined : take(name)),
          undefined
        )
        watcher?.on("error", () => watcher.close())
        return { take, taken, watch, watcher }
      }),
      ({ watch, watcher }) =>
        Effect.sync(() => {
          watcher?.close()
          options.all.remove(watch)
        })
    ),
    ({ take, taken }) => (): ReadonlyArray<string> => {
      const { directory, isNamed, top } = options
      for (const name of namesIn(directory).filter(isNamed)) take(name)
      return [...taken].map(([name, kept]) =>
        `${
          relative(top, join(directory, name))
        } is protected, and this command was not allowed to make it. What it made is now ${
          kept.map((path) => relative(top, path)).join(", ")
        }.`
      )
    }
  )
