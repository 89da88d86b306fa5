/**
 * Checks during and after a command what the sandbox could not prevent, since what does not exist cannot be mounted
 * over: protected names, repositories that it created, unfinished rebases, and links. What nobody approved is moved
 * away and reported.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { attempt, isIn, isThere, lstatOf, namesIn } from "../disk.ts"

/** Moves something away; returns its new path. */
export const aside = (path: string): string => {
  let to = `${path}.set-aside`
  for (let number = 2; lstatOf(to) !== undefined; number++) {
    to = `${path}.set-aside-${number}`
  }
  NodeFs.renameSync(path, to)
  return to
}

/** What the config of a new repository may contain: no key of these names a program. */
const harmless =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)|init\..+|user\.(?:name|email)|branch\.(?:.+\.)?(?:remote|merge|rebase|autosetupmerge|autosetuprebase)|remote\..+\.(?:fetch|url)|submodule\.(?:.+\.)?(?:active|url)|extensions\.(?:objectformat|refstorage)|lfs\.repositoryformatversion)$/i

/** The keys of a git config; `?` if it cannot be read. */
const keysIn = (text: string): ReadonlyArray<string> => {
  let section = "?"
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !/^[#;]/.test(line)).flatMap(
    (line) => {
      const header = /^\[([\w.-]+)(?:\s+"(.*)")?\]\s*(?:[#;].*)?$/.exec(line)
      if (header !== null) {
        section = header[2] === undefined ? `${header[1]}` : `${header[1]}.${header[2]}`
        return []
      }
      const [, key, value = ""] = /^([\w-]+)\s*(?:=\s*(.*))?$/.exec(line) ?? []
      return key === undefined || line.endsWith("\\") || /^\S+::/.test(value) ? ["?"] : [`${section}.${key}`]
    }
  )
}

const read = (path: string): string | undefined => attempt(() => NodeFs.readFileSync(path, "utf8"), undefined)

/** Whether a file has no other name, by which it could be changed later. */
const hasOneName = (path: string): boolean => {
  const stat = lstatOf(path)
  return stat === undefined || (stat.isFile() && stat.nlink === 1)
}

const isEmpty = (path: string): boolean => attempt(() => NodeFs.readdirSync(path).length === 0, true)

/** Whether the config of a git directory is what `git init` or `git clone` create. */
const isPlainConfig = (git: string): boolean =>
  hasOneName(join(git, "config")) && keysIn(read(join(git, "config")) ?? "").every((key) => harmless.test(key))

/** Whether a new repository contains only what `git init` or `git clone` create, except for its hooks. */
const isPlain = (git: string): boolean =>
  NodeFs.lstatSync(git).isDirectory() && isPlainConfig(git)
  && !NodeFs.existsSync(join(git, "config.worktree")) && !NodeFs.existsSync(join(git, "commondir"))
  && isEmpty(join(git, "modules"))

const hasHooks = (git: string): boolean =>
  lstatOf(join(git, "hooks"))?.isSymbolicLink() === true
  || namesIn(join(git, "hooks")).some((name) => !name.endsWith(".sample"))

/** The sentence about what was moved away. */
const warningOf = (directory: string, path: string, to: string, why: string): string =>
  `${
    relative(directory, path)
  } is protected, and this command was not allowed to change it: ${why}. What it made is now ${
    relative(directory, to)
  }.`

const moveAway = (directory: string, path: string, why: string): ReadonlyArray<string> =>
  attempt(() => lstatOf(path) === undefined ? [] : [warningOf(directory, path, aside(path), why)], [])

/** A new `.git` file is that of a worktree if it leads to a repository of the tree, which knows it. */
const isWorktree = (file: string, repositories: ReadonlyArray<string>): boolean => {
  const named = hasOneName(file) ? /^gitdir: (.+)\n?$/.exec(read(file) ?? "")?.[1] : undefined
  const own = named === undefined ? undefined : attempt(() => NodeFs.realpathSync(resolve(dirname(file), named)), "")
  return own !== undefined && repositories.includes(dirname(dirname(own)))
    && own === join(dirname(dirname(own)), "worktrees", own.slice(dirname(own).length + 1))
    && resolve(own, (read(join(own, "commondir")) ?? "").trim()) === dirname(dirname(own))
}

/** Moves away what is harmful of a new entry named `.git`. */
const checkNewGit = (
  directory: string,
  git: string,
  repositories: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const stat = lstatOf(git)
  if (stat === undefined || (stat.isFile() && isWorktree(git, repositories))) return []
  if (!isPlain(git)) return moveAway(directory, git, "git would run programs by its config, or work elsewhere")
  return hasHooks(git) ? moveAway(directory, join(git, "hooks"), "git would run what is in it") : []
}

/** Whether git takes a directory itself for a repository. */
export const isBare = (directory: string): boolean => {
  const has = (name: string) => lstatOf(join(directory, name)) !== undefined
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/** Moves away what is harmful in a new bare repository. Under another name, the whole of it would do the same. */
const checkNewBare = (directory: string, bare: string): ReadonlyArray<string> => [
  ...isPlainConfig(bare) ? [] : moveAway(directory, join(bare, "config"), "git would run programs by it"),
  ...["config.worktree", "commondir"].flatMap((name) =>
    moveAway(directory, join(bare, name), "git would work by another config")
  ),
  ...hasHooks(bare) ? moveAway(directory, join(bare, "hooks"), "git would run what is in it") : []
]

/** Where git keeps what it does next when it continues. */
const plans = ["rebase-merge/git-rebase-todo", "sequencer/todo"]

/** The lines that run a program when git continues. */
const programsIn = (git: string, plan: string): ReadonlyArray<string> =>
  (read(join(git, plan)) ?? "").split("\n").map((line) => line.trim()).filter((line) => /^(?:exec|x)\s/.test(line))

/** What an unfinished rebase in a git directory would run, and the links among its files. */
interface Plans {
  readonly programs: ReadonlySet<string>
  readonly links: ReadonlySet<string>
}

/** That of a git directory in which nothing is unfinished. */
const noPlans: Plans = { programs: new Set(), links: new Set() }

/** The present plans of a git directory. */
const plansIn = (git: string): Plans => ({
  programs: new Set(plans.flatMap((plan) => programsIn(git, plan))),
  links: new Set(plans.map((plan) => join(git, dirname(plan))).filter((path) => lstatOf(path)?.isSymbolicLink()))
})

/** Moves away a plan that runs other programs than before, or that could be changed under another name. */
const checkPlans = (directory: string, git: string, before: Plans): ReadonlyArray<string> =>
  plans.flatMap((plan) => {
    const place = join(git, dirname(plan))
    const why = "git would run programs of it when it continues"
    if (lstatOf(place)?.isSymbolicLink() === true) return before.links.has(place) ? [] : moveAway(directory, place, why)
    const isHarmless = hasOneName(join(git, plan)) && programsIn(git, plan).every((line) => before.programs.has(line))
    return isHarmless ? [] : moveAway(directory, join(git, plan), why)
  })

/** Moves away what is harmful in the data of a new worktree. */
const checkNewWorktree = (directory: string, own: string): ReadonlyArray<string> => [
  ...moveAway(directory, join(own, "config.worktree"), "git would run programs by it"),
  ...checkPlans(directory, own, noPlans)
]

/** The maximum depth and number of directories, because this runs before and after each command. */
const bounds = { depth: 2, directories: 5_000 } as const

const directoriesIn = (directory: string, hidden: boolean): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(directory, { withFileTypes: true }), [])
    .filter(({ name }) => name !== ".git" && name !== "node_modules" && (hidden || !name.startsWith(".")))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name))

/** The repositories below the top of a tree, and what they are on the disk. */
export interface FoundRepositories {
  /** The directories that were looked at. */
  readonly looked: ReadonlySet<string>
  /** Whether these are all that there are, down to the maximum depth. */
  readonly isComplete: boolean
  /** The entries named `.git`. */
  readonly named: ReadonlyMap<string, number>
  /** The directories that are repositories themselves. */
  readonly bare: ReadonlyMap<string, number>
}

/** Looks for repositories below the top of a tree; also in directories whose name begins with a dot, if `hidden` is set. */
export const findRepositories = (directory: string, hidden: boolean): FoundRepositories => {
  const looked = new Set<string>()
  const named = new Map<string, number>()
  const bare = new Map<string, number>()
  let level = directoriesIn(directory, hidden)
  for (let depth = 1; depth <= bounds.depth; depth++) {
    for (const each of level) {
      if (looked.size >= bounds.directories) return { looked, isComplete: false, named, bare }
      looked.add(each)
      const git = lstatOf(join(each, ".git"))
      if (git !== undefined) named.set(join(each, ".git"), git.ino)
      if (isBare(each)) bare.set(each, lstatOf(each)?.ino ?? 0)
    }
    if (depth < bounds.depth) level = level.flatMap((each) => directoriesIn(each, hidden))
  }
  return { looked, isComplete: true, named, bare }
}

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
  const before = states.map((git) => [git, plansIn(git)] as const)
  const treesOf = (git: string) => namesIn(join(git, "worktrees")).map((name) => join(git, "worktrees", name))
  const known = new Set(repositories.flatMap(treesOf))
  return () => [
    ...before.filter(([git]) => !isApproved(join(git, "rebase-merge"))).flatMap(([git, plan]) =>
      attempt(() => checkPlans(directory, git, plan), [])
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
