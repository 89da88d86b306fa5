/** Decides which files a project's own files may name: those of the project, under the user's rules for `read`. */
import * as FileSystem from "@effect/platform/FileSystem"
import { defaultRules } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import type { TrustItem } from "../TrustItem.ts"
import { at, type Origin, record } from "./sourced.ts"
import type { Grants } from "./weigh.ts"

export type { Grants } from "./weigh.ts"

/** Nothing but the defaults. */
export const noGrants: Grants = { user: record([], { name: "default" }), vendors: Effect.succeed([]) }

/** The files of one project. */
export interface ProjectFiles {
  /** Its top. */
  readonly root: string
  /**
   * Why a file is not read; undefined if it may be. `by` names it; without that it is one that everybody knows, such as
   * AGENTS.md, whose target counts as named if it is a link.
   */
  readonly refusal: (path: string, by?: Origin) => Effect.Effect<string | undefined, never, FileSystem.FileSystem>
  /** The named files so far that the user's rules ask about. */
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

/** The main working tree, if this is a linked one that git knows. */
const mainTree = Effect.fnUntraced(function*(root: string) {
  const fs = yield* FileSystem.FileSystem
  const [, named = ""] = /^gitdir: (.+)$/m.exec(yield* fs.readFileString(join(root, ".git"))) ?? []
  const admin = yield* fs.realPath(resolve(root, named))
  const back = (yield* fs.readFileString(join(admin, "gitdir"))).trim()
  const git = dirname(dirname(admin))
  const isKnown = basename(git) === ".git" && (yield* fs.realPath(back)) === (yield* fs.realPath(join(root, ".git")))
  return isKnown ? dirname(git) : undefined
}, Effect.orElseSucceed(() => undefined))

const strictness: Readonly<Record<Action, number>> = { allow: 0, ask: 1, deny: 2 }

/** The files of the project with this top, for sessions in `directory`. `data` is where trust is kept. */
export const projectFiles = (options: {
  readonly root: string
  readonly directory: string
  readonly data: string
  readonly grants: Grants
}): ProjectFiles => {
  const { data, directory, grants, root } = options
  const asked: Array<TrustItem> = []
  const rules = [...defaultRules, ...at(grants.user, "rules", ["permission"])?.rules ?? []]

  /** The strictest action for the path under each of its names. */
  const actionFor = (names: ReadonlyArray<string>): Action =>
    names.map((name) => evaluate(rules, "read", name) ?? "ask")
      .reduce((before, action) => (strictness[action] > strictness[before] ? action : before))

  const unlessTrusted = Effect.fnUntraced(function*(name: string, by: Origin) {
    const { judge } = yield* Effect.promise(() => import("./weigh.ts"))
    const wish = record([["read", record([[name, { kind: "leaf", value: name, origin: by }]], by)]], by)
    const { items, tree } = yield* judge({ grants, project: wish, place: { root, directory }, data })
    for (const item of items) if (!asked.some(({ digest }) => digest === item.digest)) asked.push(item)
    return at(tree, "leaf", ["read", name]) === undefined
      ? `your rules ask before it is read; \`skein trust allow ${items[0]?.id}\` lets the project's files name it`
      : undefined
  })

  const refusal: ProjectFiles["refusal"] = Effect.fnUntraced(function*(path, by) {
    const top = yield* real(root)
    const target = yield* real(path)
    const within = relative(top, target)
    const written = relative(root, resolve(path))
    const isLink = target !== join(top, written)
    if (by === undefined && isLink && isOutside(within)) {
      const main = yield* mainTree(root)
      if (main !== undefined && refusesPath(relative(main, target)) === undefined) return undefined
    }
    const why = refusesPath(within)
    if (why !== undefined || (by === undefined && !isLink)) return why
    const near = relative(yield* real(directory), target)
    const action = actionFor([within, written, target, ...(isOutside(near) ? [] : [near])])
    if (action === "deny") return "your rules deny reading it"
    return action === "ask" ? yield* unlessTrusted(within, by ?? { name: path }) : undefined
  })

  return { root, refusal, asked }
}
