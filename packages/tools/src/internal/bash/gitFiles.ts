/**
 * Finds the files of repositories that git calls show although rules require a question, and the protected ones that
 * they would replace: in the sandbox these are read-only, and git would stop half way.
 */
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { existsSync, realpathSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { shellEnvironment } from "../../Environment.ts"
import { attempt } from "../disk.ts"
import { makeGit } from "../git/gitCommand.ts"
import { runGit, withoutFetching } from "../git/gitProcess.ts"
import { isProtected } from "../protectedNames.ts"
import { collectedBy, gitCall, mayBeNamed, type Shown, shownBy } from "./gitCall.ts"
import { asRisk, beginningOf, type Invocation, type Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { gitDirectories } from "./repositories.ts"

/** How long listing a history may take, the first time and after each change. */
const patience = "2 seconds"

/** The maximum number of cached repositories. */
const mostKnown = 50

interface Known {
  readonly tips: ReadonlyArray<string>
  readonly names: ReadonlySet<string>
}

/** Files as paths relative to a directory; `undefined` if there are too many commits. */
export type TrackedNames = (
  options: {
    /** Where git works. */
    readonly directory: string
    /** The directory that the paths are relative to, absolute. */
    readonly top: string
    /** Whether to include files of all commits, not only those that are tracked now. */
    readonly ever: boolean
    /** Whether to list those instead that it does not track; `ignored`: also those that it ignores. */
    readonly others?: "known" | "ignored" | undefined
  }
) => Effect.Effect<ReadonlyArray<string> | undefined>

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

/** Makes it. The result for a repository is valid until its branches change. */
export const makeTrackedNames = (environment: Readonly<Record<string, string | undefined>>): TrackedNames => {
  const variables = { ...shellEnvironment(environment, []), ...withoutFetching, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" }
  const known = new Map<string, Known>()

  const git = (directory: string, args: ReadonlyArray<string>) =>
    runGit({
      args: ["-c", "core.quotePath=false", ...args],
      directory,
      environment: variables
    })
      .pipe(
        Effect.map(({ code, stdout }) => code === 0 ? stdout : undefined),
        Effect.catchAll(() => Effect.succeed(undefined))
      )

  /** The hashes of all reachable commits, including those that only the reflog has. */
  const everOf = Effect.fnUntraced(function*(directory: string) {
    const before = known.get(directory)
    const tips = lines((yield* git(directory, ["rev-list", "--all", "--reflog", "--no-walk"])) ?? "")
    if (tips.length === 0) return new Set<string>()
    if (before !== undefined && before.tips.join() === tips.join()) return before.names
    const old = before === undefined ? [] : ["--not", ...before.tips]
    const listed = yield* git(directory, [
      ...["log", "--all", "--reflog", "--format=", "--name-only", "--no-renames", "-m", "--no-ext-diff", "-z"],
      ...old
    ])
    if (listed === undefined) return undefined
    const names = new Set([...before?.names ?? [], ...listed.split("\0").filter((name) => name !== "")])
    if (known.size >= mostKnown) known.clear()
    known.set(directory, { tips, names })
    return names
  })

  return ({ directory, ever, others, top }) =>
    Effect.gen(function*() {
      const place = (yield* git(directory, ["rev-parse", "--show-toplevel"]))?.replace(/\n$/, "")
      // Without a working tree or a repository, git shows nothing by a name of the project.
      if (place === undefined) return []
      const which = others === undefined ? [] : ["--others", ...others === "ignored" ? [] : ["--exclude-standard"]]
      const now = (yield* git(place, ["ls-files", "-z", ...which]))?.split("\0") ?? []
      const names = new Set(now.filter((name) => name !== ""))
      if (ever) {
        const all = yield* Effect.timeoutTo(everOf(place), {
          duration: patience,
          onSuccess: (found) => found,
          onTimeout: () => undefined
        })
        if (all === undefined) return undefined
        for (const name of all) names.add(name)
      }
      return [...names].map((name) => relative(top, resolve(place, name)))
    })
}

/** A relative path as rules see it: absolute, if it leads out of the directory. */
const shownAs = (top: string, name: string): string => name.startsWith("../") ? resolve(top, name) : name

/** The maximum number of files that a question lists. */
const mostNamed = 20

/** The paths that limit a call in this directory, relative to the top. */
const limitsOf = ({ paths, surePaths }: Shown, directory: string, top: string): ReadonlyArray<string> =>
  [...paths.filter((path) => existsSync(resolve(directory, path))), ...surePaths].map((path) =>
    path.startsWith(":") || directory === top ? path : `${relative(top, directory)}/${path}`
  )

/** The top of the repository that contains a directory. */
const rootOf = (directory: string): string => {
  for (let at = directory;; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at
    if (dirname(at) === at) return directory
  }
}

const tooMuchHistory = "this repository has more history than can be searched for files that rules do not let be read"

/** Finds them. If a repository has too much history, its calls no longer count as reading only. */
export const withGitReads = Effect.fnUntraced(function*(
  parts: Parts,
  places: Places,
  directory: string,
  tracked: TrackedNames,
  reading: (path: string) => Action
) {
  const top = attempt(() => realpathSync(directory), directory)
  const read = new Set<string>()
  const collected = new Set<string>()
  const note = (names: ReadonlyArray<string>, limits: ReadonlyArray<string>, into: Set<string>) => {
    const found = names.filter((name) => reading(shownAs(top, name)) !== "allow" && mayBeNamed(limits, name))
    for (const name of found.slice(0, mostNamed)) into.add(shownAs(top, name))
  }
  const invocations: Array<Invocation> = []
  for (const invocation of parts.invocations) {
    const shown = shownBy(invocation)
    const others = collectedBy(invocation)
    let isListed = true
    const looks = shown === undefined && others === undefined
      ? []
      : yield* gitDirectories(places, top, gitCall(invocation.args))
    for (const at of looks) {
      if (others !== undefined) {
        const which = others.ignored ? "ignored" : "known"
        const names = yield* tracked({ directory: at, top, ever: false, others: which })
        note(names ?? [], limitsOf({ ever: false, paths: others.paths, surePaths: [] }, at, top), collected)
      }
      if (shown?.ofCommit !== undefined) {
        const root = rootOf(at)
        note(shown.ofCommit.map((path) => relative(top, join(root, path))), [], read)
      } else if (shown !== undefined) {
        const names = yield* tracked({ directory: at, top, ever: shown.ever })
        isListed &&= names !== undefined
        note(names ?? [], limitsOf(shown, at, top), read)
      }
    }
    invocations.push(
      isListed
        ? invocation
        : asRisk(invocation, tooMuchHistory, { beginning: beginningOf(invocation, gitCall(invocation.args).head) })
    )
  }
  return { parts: { ...parts, invocations }, read, collected }
})

/** What a call replaces: the files of these calls of `git diff`, or `any` file, within these paths. */
interface Replaced {
  readonly diffs: ReadonlyArray<ReadonlyArray<string>>
  readonly any?: boolean
  readonly paths?: ReadonlyArray<string>
}

const nothing: Replaced = { diffs: [] }

const anything: Replaced = { diffs: [], any: true }

const commands =
  /^(?:am|apply|bisect|checkout|checkout-index|cherry-pick|clean|filter-branch|merge|mv|pull|read-tree|rebase|reset|restore|revert|rm|sparse-checkout|stash|switch)$/

/** Commands that replace nothing in these forms. */
const harmless: Readonly<Record<string, RegExp>> = {
  apply: /^--(?:check|stat|numstat|summary|cached)$/,
  clean: /^(?:-[a-zA-Z]*n[a-zA-Z]*|--dry-run)$/,
  mv: /^(?:-n|--dry-run)$/,
  rm: /^(?:--cached|-n|--dry-run)$/
}

/** What the words behind a command replace. */
const replacedBy = (sub: string, words: ReadonlyArray<string>): Replaced => {
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const before = words.slice(0, end).map((each) => each === "-" ? "@{-1}" : each)
  const has = (form: RegExp) => before.some((each) => form.test(each))
  const operands = before.filter((each) => !each.startsWith("-"))
  const paths = words.slice(end + 1)
  const [first = ""] = operands
  if (has(/^--(?:continue|abort|skip)$/)) return anything
  if (harmless[sub] !== undefined && has(harmless[sub])) return nothing
  switch (sub) {
    case "checkout":
    case "restore":
    case "switch": {
      if (has(/^(?:-S|--staged)$/) && !has(/^(?:-W|--worktree)$/)) return nothing
      const source = before.flatMap((each) => /^--source=(.+)$/.exec(each)?.[1] ?? [])
      const discards = end < words.length || has(/^(?:-f|--force|--discard-changes)$/) ? [["HEAD"]] : []
      return {
        diffs: [
          ...[...operands, ...source].map((each) => ["HEAD", each, "--"]),
          ["HEAD", "--", ...operands],
          ...discards
        ],
        paths
      }
    }
    case "reset":
      return has(/^--(?:hard|merge|keep)$/)
        ? { diffs: [["HEAD"], ...operands.map((each) => ["HEAD", each, "--"])] }
        : nothing
    case "merge":
    case "rebase": {
      const others = operands.length === 0 ? ["@{upstream}"] : operands
      const back = sub === "rebase" ? others.map((each) => [`${each}...HEAD`, "--"]) : []
      return { diffs: [...others.map((each) => [`HEAD...${each}`, "--"]), ...back] }
    }
    case "cherry-pick":
    case "revert":
      return { diffs: operands.map((each) => [each.includes("..") ? each : `${each}^!`, "--"]) }
    case "stash": {
      if (/^(?:list|show|drop|clear|create|store)$/.test(first)) return nothing
      if (!/^(?:apply|pop|branch)$/.test(first)) {
        return { diffs: [["HEAD"]], any: has(/^(?:-[a-z]*[au]|--include-untracked|--all)$/), paths }
      }
      const stash = (operands.length > 1 ? operands.at(-1) : undefined) ?? "stash@{0}"
      return { diffs: [[`${stash}^1`, stash, "--"]] }
    }
    case "mv":
    case "rm":
      return { ...anything, paths: [...operands, ...paths] }
    case "bisect":
      return /^(?:log|view|visualize|terms)$/.test(first) ? nothing : anything
    default:
      return anything
  }
}

/** Makes it. Answers with the files: their real paths, by those in the session's directory. */
export const makeGitReplaces = Effect.fnUntraced(function*(
  environment: Readonly<Record<string, string | undefined>>
) {
  const { run } = yield* makeGit(environment)
  const git = (directory: string, args: ReadonlyArray<string>) =>
    run({ directory }, args).pipe(
      Effect.map(({ code, stdout }) => code === 0 ? stdout.split(/[\0\n]/).filter((name) => name !== "") : []),
      Effect.orElseSucceed((): ReadonlyArray<string> => [])
    )

  return Effect.fnUntraced(function*(
    invocations: ReadonlyArray<Invocation>,
    places: Places,
    directory: string,
    reading: (path: string) => Action
  ) {
    const top = attempt(() => realpathSync(directory), directory)
    const replaced = new Map<string, string>()
    for (const { args, program } of invocations) {
      const words = args.map(({ text }) => text)
      const at = program === "git" ? words.findIndex((each) => commands.test(each)) : -1
      if (at < 0) continue
      const { any = false, diffs, paths = [] } = args.every(({ fixed }) => fixed)
        ? replacedBy(words[at] ?? "", words.slice(at + 1))
        : anything
      for (const place of any || diffs.length > 0 ? yield* gitDirectories(places, top, gitCall(args)) : []) {
        const [root = place] = yield* git(place, ["rev-parse", "--show-toplevel"])
        const limits = paths.map((each) => join(relative(root, place), each))
        const looks = [
          ...any ? [["ls-files", "--cached", "--others", "-z"]] : [],
          ...diffs.map((each) => ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", ...each])
        ]
        for (const look of looks) {
          for (const name of yield* git(root, look)) {
            const path = shownAs(top, relative(top, join(root, name)))
            const isKept = isProtected(path) || reading(path) !== "allow"
            if (isKept && mayBeNamed(limits, name)) replaced.set(path, resolve(top, path))
          }
        }
      }
    }
    return replaced
  })
})
