/** Owns where Skein keeps its files: the XDG base directories, and what lies in them. */
import * as Env from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { userInfo } from "node:os"
import { isAbsolute, join, resolve } from "node:path"

/** Where the files of this user are; all paths are absolute, and nothing is made before it is needed. */
export class DataDirs extends Context.Tag("@skein/config/DataDirs")<DataDirs, {
  /** The user's home directory. */
  readonly home: string
  /** The user's config: `$XDG_CONFIG_HOME/skein`. */
  readonly config: string
  /** What must not be lost: `$XDG_DATA_HOME/skein`. */
  readonly data: string
  /** What can be made again: `$XDG_CACHE_HOME/skein`. */
  readonly cache: string
  /** What is worth keeping but not carrying along, such as logs: `$XDG_STATE_HOME/skein`. */
  readonly state: string
  /**
   * The SQLite file: `--db`, `SKEIN_DB`, or `skein.db` in `data`. `:memory:` stays as it is, and so does a URL, which may have a
   * password in it.
   */
  readonly database: string
  /** Texts that were too long for a model, in a directory for each session. */
  readonly spill: string
  /** The URL, process and token of each running server, in a file for each database. */
  readonly servers: string
  /** The git worktrees of isolated tasks. */
  readonly worktrees: string
}>() {
  /** The directories that the environment asks for; `database` is what `--db` says. */
  static readonly layer = (options: { readonly database?: string } = {}): Layer.Layer<DataDirs> =>
    Layer.effect(DataDirs, make(options))
}

// An empty variable counts as unset, as the XDG specification has it.
const variable = (name: string) =>
  Env.nonEmptyString(name).pipe(
    Env.option,
    Effect.map(Option.getOrUndefined),
    Effect.orDieWith((error) => new Error(`The environment cannot be read: ${String(error)}`))
  )

// Without $HOME the account says where it is; an account without an entry has no home but the root.
const accountHome = Effect.orElseSucceed(Effect.try(() => resolve(userInfo().homedir || "/")), () => "/")

const make = Effect.fnUntraced(function*(options: { readonly database?: string }) {
  const home = (yield* variable("HOME")) ?? (yield* accountHome)
  const base = (name: string, otherwise: string) =>
    // The specification has relative paths ignored: they would move with the working directory.
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
    database: database === ":memory:" || /^[a-z][a-z0-9+.-]*:\/\//i.test(database) ? database : resolve(database),
    spill: join(data, "spill"),
    servers: join(data, "servers"),
    worktrees: join(data, "worktrees")
  }
})
