/**
 * Finds what git runs or reads in a tree because a config names it: the directory of its hooks (`core.hooksPath`), and
 * included files.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { dirname, join, resolve } from "node:path"
import { shellEnvironment } from "../../Environment.ts"
import { attempt, isIn, realOf, textOf } from "../disk.ts"
import { runGit, withoutFetching } from "./gitProcess.ts"

/** The repository that a directory is in. */
interface Repository {
  /** The directory with `.git`. */
  readonly top: string
  /** Its config, which all its worktrees share. */
  readonly config: string
}

interface Known {
  /** The config of its repository, or where its `.git` would be. */
  readonly file: string
  /** What that was when it was read. */
  readonly stamp: string
  readonly paths: ReadonlyArray<string>
}

/** How many directories are remembered. */
const mostKnown = 200

const stampOf = (path: string): string =>
  attempt(() => {
    const found = NodeFs.statSync(path, { throwIfNoEntry: false })
    return found === undefined ? "" : `${found.ino} ${found.size} ${found.ctimeMs}`
  }, "")

const repositoryOf = (directory: string): Repository | undefined => {
  const git = join(directory, ".git")
  const found = attempt(() => NodeFs.statSync(git, { throwIfNoEntry: false }), undefined)
  if (found === undefined) return dirname(directory) === directory ? undefined : repositoryOf(dirname(directory))
  if (found.isDirectory()) return { top: directory, config: join(git, "config") }
  const own = resolve(directory, /^gitdir: (.+)$/m.exec(textOf(git))?.[1] ?? git)
  return { top: directory, config: resolve(own, textOf(join(own, "commondir")).trim() || ".", "config") }
}

/** Whether a config may name something: most do not, and then git is not asked. */
const mayName = (text: string): boolean => /hookspath|\[\s*include/i.test(text)

/** Makes it. The paths of a directory are absolute, real and as written, and looked up again when its config changes. */
export const makeGitNames = (environment: Readonly<Record<string, string | undefined>>) => {
  const places = ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"]
  const variables = {
    ...shellEnvironment(environment, places),
    ...withoutFetching,
    GIT_OPTIONAL_LOCKS: "0",
    LC_ALL: "C"
  }
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, HOME = "/", XDG_CONFIG_HOME = join(HOME, ".config") } = environment
  let ofUser: boolean | undefined
  const known = new Map<string, Known>()

  const mayAnyName = ({ config }: Repository): boolean => {
    ofUser ??= [
      GIT_CONFIG_SYSTEM ?? "/etc/gitconfig",
      ...GIT_CONFIG_GLOBAL === undefined
        ? [join(HOME, ".gitconfig"), join(XDG_CONFIG_HOME, "git", "config")]
        : [GIT_CONFIG_GLOBAL]
    ].some((path) => mayName(textOf(path)))
    return ofUser || mayName(textOf(config)) || mayName(textOf(join(dirname(config), "config.worktree")))
  }

  const git = (directory: string, args: ReadonlyArray<string>) =>
    runGit({ args, directory, environment: variables }).pipe(
      Effect.map(({ code, stdout }) => code === 0 ? stdout : ""),
      Effect.orElseSucceed(() => "")
    )

  const named = Effect.fnUntraced(function*({ config, top }: Repository) {
    const hooks = (yield* git(top, ["rev-parse", "--git-path", "hooks"])).replace(/\n$/, "")
    const listed = (yield* git(top, ["config", "--list", "--show-origin", "-z"])).split("\0")
    const files = new Set(listed.flatMap((text, at) => at % 2 === 0 && text.startsWith("file:") ? [text.slice(5)] : []))
    return [hooks, ...files].filter((path) => path !== "").map((path) => resolve(top, path))
      .filter((path) => !isIn(path, dirname(config)) && path !== top)
      .flatMap((path) => [...new Set([path, realOf(path)])])
  })

  return (directory: string): Effect.Effect<ReadonlyArray<string>> =>
    Effect.suspend(() => {
      const before = known.get(directory)
      if (before !== undefined && stampOf(before.file) === before.stamp) return Effect.succeed(before.paths)
      const repository = repositoryOf(directory)
      const file = repository?.config ?? join(directory, ".git")
      const stamp = stampOf(file)
      const finding = repository !== undefined && mayAnyName(repository) ? named(repository) : Effect.succeed([])
      return Effect.tap(finding, (paths) => {
        if (known.size >= mostKnown) known.clear()
        known.set(directory, { file, stamp, paths })
      })
    })
}
