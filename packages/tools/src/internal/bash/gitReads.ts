/** Finds the tracked files that git calls show although rules require a question before they are read. */
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { existsSync, realpathSync } from "node:fs"
import { relative, resolve } from "node:path"
import { shellEnvironment } from "../../Environment.ts"
import { attempt } from "../disk.ts"
import { runGit, withoutFetching } from "../git/gitProcess.ts"
import { gitCall } from "./gitCall.ts"
import { collectedBy, mayBeNamed, type Shown, shownBy } from "./gitShown.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { gitDirectories } from "./repositoryRisks.ts"
import { plainWord, spelled } from "./words.ts"

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
export const shownAs = (top: string, name: string): string => name.startsWith("../") ? resolve(top, name) : name

/** The maximum number of files that a question lists. */
const mostNamed = 20

/** The paths that limit a call in this directory, relative to the top. */
const limitsOf = ({ paths, surePaths }: Shown, directory: string, top: string): ReadonlyArray<string> =>
  [...paths.filter((path) => existsSync(resolve(directory, path))), ...surePaths].map((path) =>
    path.startsWith(":") || directory === top ? path : `${relative(top, directory)}/${path}`
  )

const unlisted = (invocation: Invocation): Invocation => {
  const words = [plainWord(invocation.program), ...invocation.args]
  return {
    ...invocation,
    pattern: spelled(words),
    beginning: spelled(words.slice(0, gitCall(invocation.args).head)),
    risk: "this repository has more history than can be searched for files that rules do not let be read",
    reads: false
  }
}

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
    for (const at of others === undefined ? [] : yield* gitDirectories(places, top, gitCall(invocation.args))) {
      const names = yield* tracked({
        directory: at,
        top,
        ever: false,
        others: others?.ignored === true ? "ignored" : "known"
      })
      note(names ?? [], limitsOf({ ever: false, paths: others?.paths ?? [], surePaths: [] }, at, top), collected)
    }
    for (const at of shown === undefined ? [] : yield* gitDirectories(places, top, gitCall(invocation.args))) {
      const names = yield* tracked({ directory: at, top, ever: shown?.ever === true })
      isListed &&= names !== undefined
      const limits = shown === undefined ? [] : limitsOf(shown, at, top)
      note(names ?? [], limits, read)
    }
    invocations.push(isListed ? invocation : unlisted(invocation))
  }
  return { parts: { ...parts, invocations }, read, collected }
})
