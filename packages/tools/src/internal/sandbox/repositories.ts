/** Finds the repositories of a tree, and decides what in a new one would run programs, and moves that away. */
import * as NodeFs from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { attempt, lstatOf, namesIn } from "../disk.ts"

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
export const warningOf = (directory: string, path: string, to: string, why: string): string =>
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
export const checkNewGit = (
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
export const checkNewBare = (directory: string, bare: string): ReadonlyArray<string> => [
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
export const noPlans: Plans = { programs: new Set(), links: new Set() }

/** The present plans of a git directory. */
export const plansIn = (git: string): Plans => ({
  programs: new Set(plans.flatMap((plan) => programsIn(git, plan))),
  links: new Set(plans.map((plan) => join(git, dirname(plan))).filter((path) => lstatOf(path)?.isSymbolicLink()))
})

/** Moves away a plan that runs other programs than before, or that could be changed under another name. */
export const checkPlans = (directory: string, git: string, before: Plans): ReadonlyArray<string> =>
  plans.flatMap((plan) => {
    const place = join(git, dirname(plan))
    const why = "git would run programs of it when it continues"
    if (lstatOf(place)?.isSymbolicLink() === true) return before.links.has(place) ? [] : moveAway(directory, place, why)
    const isHarmless = hasOneName(join(git, plan)) && programsIn(git, plan).every((line) => before.programs.has(line))
    return isHarmless ? [] : moveAway(directory, join(git, plan), why)
  })

/** Moves away what is harmful in the data of a new worktree. */
export const checkNewWorktree = (directory: string, own: string): ReadonlyArray<string> => [
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
