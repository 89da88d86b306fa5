/** Decides where Skein keeps its files: in the XDG base directories. */
import * as Env from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { readdirSync, readFileSync, realpathSync } from "node:fs"
import { userInfo } from "node:os"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"

/** The directories of this user; all paths are absolute, and nothing is created before it is needed. */
export class DataDirs extends Context.Tag("@skein/config/DataDirs")<DataDirs, {
  /** The user's home directory. */
  readonly home: string
  /** The user's config: `$XDG_CONFIG_HOME/skein`. */
  readonly config: string
  /** Data that must not be lost: `$XDG_DATA_HOME/skein`. */
  readonly data: string
  /** Data that can be recreated: `$XDG_CACHE_HOME/skein`. */
  readonly cache: string
  /** Data that is specific to this machine, such as logs: `$XDG_STATE_HOME/skein`. */
  readonly state: string
  /**
   * The SQLite file: `--db`, `SKEIN_DB`, or `skein.db` in `data`. `:memory:` stays unchanged, and so does a URL, which
   * may contain a password. What begins with a quote stays unchanged too, so that the storage can refuse it.
   */
  readonly database: string
  /** Long texts, in a directory per session. */
  readonly spill: string
  /** The URL, process and token of each running server, in a file per database. */
  readonly servers: string
  /** The git worktrees of isolated tasks. */
  readonly worktrees: string
  /**
   * Where all programs of Skein of this user write down where they keep their files: the same directory, whatever
   * `XDG_` variables say.
   */
  readonly register: string
  /** Files with secrets of this program that lie elsewhere, such as that of `--token-file`. */
  readonly secretFiles?: ReadonlyArray<string>
}>() {
  /** The directories according to the environment; `database` is the value of `--db`. */
  static readonly layer = (options: { readonly database?: string } = {}): Layer.Layer<DataDirs> =>
    Layer.effect(DataDirs, make(options))
}

/** A path without links, also of what does not exist. */
export const realPath = (path: string): string =>
  Either.getOrElse(
    Either.try(() => realpathSync(path)),
    () => dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
  )

const read = <A>(what: () => A, otherwise: A): A => Either.getOrElse(Either.try(what), () => otherwise)

/** The top directories of all working trees of the repository with this one; none where git has no repository. */
export const checkoutsOf = (root: string): ReadonlyArray<string> => {
  const git = join(root, ".git")
  const line = (file: string) => read(() => readFileSync(file, "utf8").trim(), "")
  const own = resolve(root, /^gitdir: (.+)$/m.exec(line(git))?.[1] ?? git)
  const common = resolve(own, line(join(own, "commondir")))
  const linked = read(() => readdirSync(join(common, "worktrees")), []).flatMap((name) => {
    const admin = join(common, "worktrees", name)
    const file = line(join(admin, "gitdir"))
    return file === "" ? [] : [dirname(resolve(admin, file))]
  })
  return basename(common) === ".git" && common !== git ? [dirname(common), ...linked] : linked
}

// An empty variable counts as unset, as in the XDG specification.
const variable = (name: string) =>
  Env.nonEmptyString(name).pipe(
    Env.option,
    Effect.map(Option.getOrUndefined),
    Effect.orDieWith((error) => new Error(`The environment cannot be read: ${String(error)}`))
  )

// Without $HOME the user database is used; an account without an entry has the home `/`.
const accountHome = Effect.orElseSucceed(Effect.try(() => resolve(userInfo().homedir || "/")), () => "/")

const make = Effect.fnUntraced(function*(options: { readonly database?: string }) {
  const home = (yield* variable("HOME")) ?? (yield* accountHome)
  const base = (name: string, otherwise: string) =>
    // The specification ignores relative paths, which would depend on the working directory.
    Effect.map(variable(name), (path) =>
      join(path !== undefined && isAbsolute(path) ? path : join(home, otherwise), "skein"))
  const data = yield* base("XDG_DATA_HOME", ".local/share")
  const database = options.database ?? (yield* variable("SKEIN_DB")) ?? join(data, "skein.db")
  return {
    home,
    config: yield* base("XDG_CONFIG_HOME", ".config"),
    data,
    cache: yield* base("XDG_CACHE_HOME", ".cache"),
    state: yield* base("XDG_STATE_HOME", ".local/state"),
    database: database === ":memory:" || /^(?:["']|[a-z][a-z0-9+.-]*:\/\/)/i.test(database)
      ? database
      : resolve(database),
    spill: join(data, "spill"),
    servers: join(data, "servers"),
    worktrees: join(data, "worktrees"),
    register: join(home, ".local", "state", "skein", "places")
  }
})
