/**
 * Finds what a sandboxed command may change: in its tree all but protected names at the top and what git runs or reads,
 * and outside what was approved.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import * as NodePath from "node:path"
import { dirname, join } from "node:path"
import { attempt, between, isIn, lstatOf } from "../disk.ts"
import { isProtectedAtTop, protectedBelow } from "../protectedNames.ts"
import { findRepositories, type FoundRepositories, isBare } from "./aftermath.ts"

/** The names in a home that belong to a project there. Other names that begin with a dot are hidden. */
const ofProject = new Set([".git", ".gitignore", ".gitmodules", ".skein", ".vscode", ".idea", ".mcp.json", ".envrc"])

/** Whether a name in the home belongs to a project there. */
export const isOfProject = (name: string): boolean => ofProject.has(name)

/** What git runs or reads in its directory. */
const ofGit = ["hooks", "config", "modules", "info/attributes"]

/** Where git finds what it runs for other worktrees, and for how many of them this is protected. */
const ofTree = ["commondir", "gitdir", "modules"]

const mostTrees = 50

/** How many repositories below the top are protected: each costs several mounts. */
const mostRepositories = 50

/** What a command may and may not change. */
export interface Guarded {
  /** The protected names at the top of the tree that exist, except `.git`. */
  readonly names: ReadonlyArray<string>
  /** The shared git directories of worktrees, which the command has to see, read-only. */
  readonly kept: ReadonlyArray<string>
  /** The directories of git in the tree. */
  readonly repositories: ReadonlyArray<string>
  /** Where git keeps what it does next: these directories, and those of worktrees. */
  readonly states: ReadonlyArray<string>
  /** All repositories below the top of the tree. */
  readonly found: FoundRepositories
  readonly writable: ReadonlyArray<string>
  readonly readable: ReadonlyArray<string>
  readonly pinned: ReadonlyArray<string>
  readonly reopened: ReadonlyArray<string>
  /** Missing directories of git, which have to exist to be mounted over. */
  readonly missingDirectories: ReadonlyArray<string>
  /** Missing files of git. */
  readonly missingFiles: ReadonlyArray<string>
}

type Kind = "directory" | "file" | "none" | "other"

const kindOf = (path: string): Kind => {
  const stat = lstatOf(path)
  return stat === undefined ? "none" : stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other"
}

const lineOf = (path: string): string =>
  kindOf(path) === "file" ? NodeFs.readFileSync(path, "utf8").trim().split("\n", 1).join("") : ""

/**
 * The git directories of a worktree. Anybody may have written its `.git` file, so they only count if they name that
 * file in turn.
 */
const worktreeOf = (file: string): { readonly own: string; readonly common: string } | undefined => {
  const named = /^gitdir: (.+)$/.exec(lineOf(file))?.[1]
  if (named === undefined) return undefined
  const given = NodePath.resolve(NodePath.dirname(file), named)
  if (kindOf(given) !== "directory") return undefined
  const own = NodeFs.realpathSync(given)
  const back = NodePath.resolve(own, lineOf(NodePath.join(own, "gitdir")))
  const common = NodePath.resolve(own, lineOf(NodePath.join(own, "commondir")))
  return back === file && NodePath.dirname(own) === NodePath.join(common, "worktrees") ? { own, common } : undefined
}

const guard = (
  { approved, directory, home, isPlaceholder, named: namedByConfig }: Parameters<typeof guardedPlaces>[0]
): Guarded => {
  const writable: Array<string> = [directory]
  const readable: Array<string> = []
  const pinned: Array<string> = []
  const kept: Array<string> = []
  const missingDirectories: Array<string> = []
  const missingFiles: Array<string> = []
  // What a person has approved for this command stays writable.
  const isApproved = (path: string) => approved.some((each) => each === path || each.startsWith(`${path}/`))

  const keep = (path: string, missing?: Array<string>) => {
    if (isApproved(path)) return
    const kind = isPlaceholder(path) ? "none" : kindOf(path)
    if (kind === "directory" || kind === "file") readable.push(path)
    else if (kind === "none") missing?.push(path)
    else keepTarget(path)
  }
  // A link cannot be mounted over, but its target can. Nothing outside of the tree is writable anyway.
  const keepTarget = (link: string) => {
    const target = NodeFs.existsSync(link) ? NodeFs.realpathSync(link) : directory
    if (target === directory || !isIn(target, directory) || kindOf(target) === "other") return
    pinned.push(...between(target, directory))
    keep(target)
  }

  const isHome = home === directory
  const isHidden = (name: string) => isHome && name.startsWith(".") && name !== ".git"
  const names = NodeFs.readdirSync(directory).filter((name) => isProtectedAtTop(name, isHome) || isHidden(name))
  for (const name of names) keep(NodePath.join(directory, name))
  const keepBelow = (path: string) => {
    pinned.push(...between(path, directory))
    keep(path)
  }
  for (const [parent, isNamed] of protectedBelow) {
    const at = NodePath.join(directory, parent)
    if (kindOf(at) !== "directory") continue
    for (const name of NodeFs.readdirSync(at).filter(isNamed)) keepBelow(NodePath.join(at, name))
  }
  for (const path of namedByConfig) keepBelow(path)
  if (home !== undefined && !isHome && isIn(home, directory)) keepBelow(home)

  // What git runs is protected where it is, wherever its directory is in the tree.
  const repositories: Array<string> = []
  const states: Array<string> = []
  const keepTree = (tree: string) => {
    states.push(tree)
    for (const name of ofTree) keep(NodePath.join(tree, name), name === "modules" ? missingDirectories : undefined)
    keep(NodePath.join(tree, "config.worktree"), missingFiles)
  }
  // Objects of other places would become those of the repository.
  const keepObjects = (common: string) => {
    const info = NodePath.join(common, "objects", "info")
    if (kindOf(info) !== "directory") return keep(info, missingDirectories)
    pinned.push(NodePath.dirname(info), info)
    keep(NodePath.join(info, "alternates"), missingFiles)
  }
  const keepGit = (git: string) => {
    repositories.push(git)
    pinned.push(...between(git, directory), git)
    if (kindOf(NodePath.join(git, "info")) === "directory") pinned.push(NodePath.join(git, "info"))
    for (const name of ofGit) {
      const isDirectory = name === "hooks" || name === "modules"
      keep(NodePath.join(git, name), isDirectory ? missingDirectories : name === "config" ? missingFiles : undefined)
    }
    keep(NodePath.join(git, "config.worktree"), missingFiles)
    keepObjects(git)
    states.push(git)
    const trees = NodePath.join(git, "worktrees")
    if (kindOf(trees) !== "directory") return
    pinned.push(trees)
    for (const name of NodeFs.readdirSync(trees).slice(0, mostTrees)) {
      const tree = NodePath.join(trees, name)
      pinned.push(tree)
      keepTree(tree)
    }
  }

  const named = NodePath.join(directory, ".git")
  const led = kindOf(named) === "other" && NodeFs.existsSync(named) ? NodeFs.realpathSync(named) : named
  const git = isIn(led, directory) ? led : named
  if (kindOf(git) === "directory") keepGit(git)
  else if (kindOf(git) === "none" && isBare(directory)) keepGit(directory)
  const nested = findRepositories(directory, !isHome)
  for (const each of [...nested.named.keys(), ...nested.bare.keys()].slice(0, mostRepositories)) {
    if (kindOf(each) === "directory") keepGit(each)
    else {
      keepBelow(each)
    }
  }
  if (kindOf(git) === "file") {
    keep(git)
    const tree = worktreeOf(git)
    if (tree !== undefined) {
      kept.push(tree.common)
      writable.push(
        ...["objects", "refs", "logs"].map((name) => NodePath.join(tree.common, name)).filter((path) =>
          kindOf(path) === "directory"
        ),
        tree.own
      )
      keepTree(tree.own)
      keepObjects(tree.common)
    }
  }

  const plans = NodePath.join(directory, ".skein", "plans")
  return {
    names,
    kept,
    repositories,
    states,
    found: nested,
    writable,
    readable,
    pinned,
    reopened: kindOf(plans) === "directory" && readable.includes(NodePath.dirname(plans)) ? [plans] : [],
    missingDirectories,
    // If its directory does not exist, a file cannot replace anything.
    missingFiles: missingFiles.filter((path) => kindOf(NodePath.dirname(path)) === "directory")
  }
}

/** The protected parts of a tree. */
export const guardedPlaces = (options: {
  readonly directory: string
  /** Paths that this command may change. */
  readonly approved: ReadonlyArray<string>
  /** The user's home, real. */
  readonly home: string | undefined
  /** Places in the tree that its git runs or reads because a config names them. */
  readonly named: ReadonlyArray<string>
  /** Placeholders for what is missing. */
  readonly isPlaceholder: (path: string) => boolean
}): Effect.Effect<Guarded, Cause.UnknownException> => Effect.try(() => guard(options))

/** What may be changed, and what in it may not. */
export interface ApprovedPlaces {
  readonly writable: ReadonlyArray<string>
  readonly readable: ReadonlyArray<string>
}

/** A larger directory is not made writable for a new name, because each of its entries costs a mount. */
const most = 1_000

/** A directory in which something may be created, while its existing entries stay read-only. */
const placeFor = (path: string, approved: ReadonlyArray<string>): ApprovedPlaces | undefined => {
  const parent = dirname(path)
  const names = attempt(() => NodeFs.readdirSync(parent), undefined)
  if (names === undefined || names.length > most) return undefined
  const others = names.map((name) => join(parent, name)).filter((each) => !approved.some((one) => isIn(one, each)))
  // The target of a link cannot be mounted over, and this does not make it writable.
  return { writable: [parent], readable: others.filter((each) => !isLink(each)) }
}

const isReal = (path: string): boolean => attempt(() => NodeFs.realpathSync(path), "") === path

/** What has to be created first for a path to exist: the path itself if it exists, or its directory. */
const firstMissing = (path: string): string => {
  const parent = dirname(path)
  return parent === path || NodeFs.existsSync(parent) ? path : firstMissing(parent)
}

const isLink = (path: string): boolean => attempt(() => NodeFs.lstatSync(path).isSymbolicLink(), true)

/**
 * An existing file becomes writable itself, unless it now leads elsewhere. For a new file its directory becomes
 * writable, unless that is too large to be meant.
 */
export const approvedPlaces = (options: {
  /** What may be written. */
  readonly approved: ReadonlyArray<string>
  /** What may also be moved, removed or replaced, which changes its directory. */
  readonly reached: ReadonlyArray<string>
  readonly directory: string
  readonly home: string | undefined
}): ApprovedPlaces => {
  const { approved, directory, home, reached } = options
  const all = [...approved, ...reached]
  const writable = new Set<string>()
  const readable = new Set<string>()
  const isTooMuch = (path: string) => path === "/" || path === home || isIn(directory, path)
  const within = (path: string) => {
    const parent = dirname(path)
    return isTooMuch(parent) || !isReal(parent) ? undefined : placeFor(path, all)
  }
  const open = (place: ApprovedPlaces | undefined) => {
    for (const each of place?.writable ?? []) writable.add(each)
    for (const each of place?.readable ?? []) readable.add(each)
  }
  const itself = (path: string) => (isReal(path) ? { writable: [path], readable: [] } : undefined)
  for (const path of approved) {
    if (path === "/" || isIn(path, directory)) continue
    open(NodeFs.existsSync(path) ? itself(path) : within(path))
  }
  for (const path of reached.map(firstMissing)) {
    if (isTooMuch(path) || isIn(path, directory)) continue
    open(within(path) ?? itself(path))
  }
  return { writable: [...writable], readable: [...readable].filter((path) => !writable.has(path)) }
}
