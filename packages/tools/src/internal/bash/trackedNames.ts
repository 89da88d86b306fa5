/** Lists the names of the files that a repository tracks or has ever tracked, because git can show their contents. */
import * as Effect from "effect/Effect"
import { relative, resolve } from "node:path"
import { runGit, withoutFetching } from "../git/gitProcess.ts"
import { shellEnvironment } from "../shell/shellEnvironment.ts"

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
      args: ["-c", "core.quotePath=false", "-c", "log.showSignature=false", ...args],
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
