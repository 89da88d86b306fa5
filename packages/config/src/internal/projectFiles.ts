/**
 * Finds the directories that may have config, and decides which files a project's own files may name: those of the
 * project, under the user's rules for `read`.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { defaultRules } from "@skein/core/Agent"
import { placed } from "@skein/core/RulePaths"
import { evaluate } from "@skein/core/Ruleset"
import type { Ruleset } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import { realPath } from "../DataDirs.ts"
import type { TrustItem } from "../TrustItem.ts"
import { type Origin, record, toValue, valueAt } from "./sourced.ts"
import type { Grants } from "./weigh.ts"

/** The directories, lowest priority first. */
interface Places {
  /** The user's directory. */
  readonly user: string
  /** From the top of the tree down to the directory. */
  readonly project: ReadonlyArray<string>
  /** The git root; without one, each directory is its own project. */
  readonly root: string | undefined
}

/** Whether something exists there that can be read. */
export const isThere = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(Effect.as(fs.stat(path), true), () => false))

/** Finds them, after resolving links, as git does. */
export const placesOf = Effect.fnUntraced(function*(directory: string, user: string) {
  const fs = yield* FileSystem.FileSystem
  const project: Array<string> = []
  let place = yield* Effect.orElseSucceed(fs.realPath(directory), () => resolve(directory))
  for (;;) {
    project.unshift(place)
    if (yield* isThere(join(place, ".git"))) return { user, project, root: place } satisfies Places
    const above = dirname(place)
    if (above === place) return { user, project, root: undefined } satisfies Places
    place = above
  }
})

/** Whether a config file belongs to another tool. */
export const isForeignFile = (file: string): boolean =>
  /^(?:opencode\.jsonc?|settings(?:\.local)?\.json)$/.test(basename(file)) || /\/\.(?:claude|opencode)\//.test(file)

export type { Grants } from "./weigh.ts"

/** Nothing but the defaults. */
export const noGrants: Grants = { user: record([], { name: "default" }), vendors: Effect.succeed([]) }

/** The files of one project. */
export interface ProjectFiles {
  /** Its top. */
  readonly root: string
  /**
   * Why a file is not read; undefined if it may be. `by` names it; without that it is one that everybody knows, such as
   * AGENTS.md, whose target counts as named if it is a link. A hard link always needs trust: its other names may be
   * outside.
   */
  readonly refusal: (path: string, by?: Origin) => Effect.Effect<string | undefined, never, FileSystem.FileSystem>
  /** Why a file that Skein reads by its name is not read because it is a hard link; undefined if it may be. */
  readonly linkRefusal: (path: string) => Effect.Effect<string | undefined, never, FileSystem.FileSystem>
  /** The files so far that need trust to be read. */
  readonly asked: ReadonlyArray<TrustItem>
}

const real = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.realPath(path), () => resolve(path)))

const isOutside = (path: string): boolean => path === ".." || path.startsWith(`..${sep}`) || resolve(path) === path

/** Why a project may not name a path, wherever its links lead; `path` is relative to the project. */
export const refusesPath = (path: string): string | undefined =>
  isOutside(path)
    ? "a project's file may not read files outside of the project"
    : path.split(sep).some((name) => name.toLowerCase() === ".git")
    ? "a project's file may not read git's own files"
    : undefined

/** Whether a file has other names, which may be outside. Package managers make such files from their store. */
const isHardLink = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path)
  return info.type === "File" && Option.exists(info.nlink, (names) => names > 1)
}, Effect.orElseSucceed(() => false))

/** The main working tree, if this is a linked one that git knows. */
export const mainTree = Effect.fnUntraced(function*(root: string) {
  const fs = yield* FileSystem.FileSystem
  const [, named = ""] = /^gitdir: (.+)$/m.exec(yield* fs.readFileString(join(root, ".git"))) ?? []
  const admin = yield* fs.realPath(resolve(root, named))
  const back = (yield* fs.readFileString(join(admin, "gitdir"))).trim()
  const git = dirname(dirname(admin))
  const isKnown = basename(git) === ".git" && (yield* fs.realPath(back)) === (yield* fs.realPath(join(root, ".git")))
  return isKnown ? dirname(git) : undefined
}, Effect.orElseSucceed(() => undefined))

/** The files of the project with this top, for sessions in `directory`. `data` is where trust is kept. */
export const projectFiles = (options: {
  readonly root: string
  readonly directory: string
  readonly data: string
  readonly grants: Grants
}): ProjectFiles => {
  const { data, directory, grants, root } = options
  const asked: Array<TrustItem> = []
  const said = valueAt(grants.user, "rules", ["permission"])
  const own = said === undefined ? [] : toValue(said) as Ruleset
  const place = { roots: [root], base: root, home: grants.home, real: realPath } as const
  const rules = [...defaultRules, ...own.flatMap((rule) => placed(rule, place))]

  /** A name that is trusted for a plain file is not trusted for a hard link. */
  const unlessTrusted = Effect.fnUntraced(function*(name: string, by: Origin, linked: boolean) {
    const { judge } = yield* Effect.promise(() => import("./weigh.ts"))
    const value = linked ? `${name} (a hard link)` : name
    const wish = record([["read", record([[name, { kind: "leaf", value, origin: by }]], by)]], by)
    const { items, tree } = yield* judge({ grants, project: wish, place: { root, directory }, data })
    for (const item of items) if (!asked.some(({ digest }) => digest === item.digest)) asked.push(item)
    if (valueAt(tree, "leaf", ["read", name]) !== undefined) return undefined
    const trust = `\`skein trust allow ${items[0]?.id}\``
    return linked
      ? `it is a hard link, which may lead out of the project; copy the file, or let the project read it with ${trust}`
      : `your rules ask before it is read; ${trust} lets the project's files name it`
  })

  const isLinked = (target: string, within: string) =>
    within.split(sep).includes("node_modules") ? Effect.succeed(false) : isHardLink(target)

  const linkRefusal: ProjectFiles["linkRefusal"] = Effect.fnUntraced(function*(path) {
    const target = yield* real(path)
    const within = relative(yield* real(root), target)
    const linked = !isOutside(within) && (yield* isLinked(target, within))
    return linked ? yield* unlessTrusted(within, { name: path }, linked) : undefined
  })

  const refusal: ProjectFiles["refusal"] = Effect.fnUntraced(function*(path, by) {
    const target = yield* real(path)
    const main = yield* mainTree(root)
    // Config that was read in the main tree names files there, also for the agents in a linked one.
    const isIn = (tree: string) => !isOutside(relative(tree, resolve(path)))
    const base = main !== undefined && isIn(main) && !isIn(root) ? main : root
    const top = yield* real(base)
    const within = relative(top, target)
    const written = relative(base, resolve(path))
    const isLink = target !== join(top, written)
    const linked = yield* isLinked(target, within)
    if (by === undefined && isLink && isOutside(within)) {
      if (main !== undefined && refusesPath(relative(main, target)) === undefined) {
        return linked ? yield* unlessTrusted(within, { name: path }, linked) : undefined
      }
    }
    const why = refusesPath(within)
    if (why !== undefined || (by === undefined && !isLink && !linked)) return why
    const action = evaluate(rules, "read", { relative: [within, written], absolute: [target, resolve(path)] }) ?? "ask"
    if (action === "deny") return "your rules deny reading it"
    return linked || action === "ask" ? yield* unlessTrusted(within, by ?? { name: path }, linked) : undefined
  })

  return { root, refusal, linkRefusal, asked }
}
