/** Decides whether a command works through a server. Loads the client only if it does. */
import type { Backend } from "@skein/backend/Backend"
import { DataDirs } from "@skein/config/DataDirs"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { readdirSync } from "node:fs"
import { UsageError } from "../../ExitCode.ts"
import type { Found } from "./findServer.ts"

/** The flags that decide it. */
export interface AttachFlags {
  readonly attach: string | undefined
  readonly db: string | undefined
}

/** Whether any server of this user may be running. If not, the client is not loaded. */
const mayRun = Effect.map(
  DataDirs,
  ({ servers }) =>
    Either.getOrElse(Either.try(() => readdirSync(servers)), (): ReadonlyArray<string> => [])
      .some((name) => name.endsWith(".json"))
)

const loadFinder = Effect.promise(() => import("./findServer.ts"))

/**
 * The server to work through; undefined to work in this process. `note` gets the reason why a running server is not
 * used.
 */
export const findServer = Effect.fnUntraced(
  function*({ attach = "auto", db }: AttachFlags, note: (line: string) => void) {
    if (attach === "off") return undefined
    if (attach === "auto") {
      if (!(yield* mayRun)) return undefined
      return yield* Effect.flatMap(loadFinder, ({ findAuto }) => findAuto(note))
    }
    if (db !== undefined) {
      return yield* new UsageError({
        message: "--attach URL and --db exclude each other: a server has its own database. Leave one of them out."
      })
    }
    return yield* Effect.flatMap(loadFinder, ({ findNamed }) => findNamed(attach))
  }
)

/** The flags that only sessions in the process of the command can apply. */
interface OwnSettings {
  readonly concurrency: number | undefined
  readonly "max-tasks": number | undefined
  readonly "max-steps": number | undefined
  readonly sandbox: string | undefined
}

/** The server for a command that prompts. If it has settings that a server does not take, it works in its own process. */
export const findServerFor = Effect.fnUntraced(
  function*(flags: AttachFlags & OwnSettings, note: (line: string) => void) {
    const found = yield* findServer(flags, note)
    const own = (["concurrency", "max-tasks", "max-steps", "sandbox"] as const).filter((name) =>
      flags[name] !== undefined
    )
    if (found === undefined || own.length === 0) return found
    const why = `${
      own.map((name) => `--${name}`).join(", ")
    }: the server at ${found.server.url} has settings of its own`
    if (flags.attach !== undefined && flags.attach !== "auto") {
      return yield* new UsageError({ message: `${why}. Leave that out, or run without the server: --attach=off.` })
    }
    note(`${why}, so this command does not use it.`)
    return undefined
  }
)

/** The backend over the server that was found. */
export const backendOf = ({ locate, others = [], server }: Found): Layer.Layer<Backend> =>
  Layer.unwrapEffect(Effect.map(
    Effect.promise(() =>
      Promise.all([import("@skein/backend/ServerBackend"), import("@effect/platform/FetchHttpClient")])
    ),
    ([ServerBackend, FetchHttpClient]) =>
      Layer.provide(ServerBackend.layer({ server, locate, others }), FetchHttpClient.layer)
  ))

/** Whether a shell takes it as it is. */
const isPlain = (text: string): boolean => /^[\w@%+=:,./-]+$/.test(text)

const quoted = (text: string): string => isPlain(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** A URL with a password is not repeated. */
const hasPassword = (database: string): boolean => URL.canParse(database) && new URL(database).password !== ""

/** The flags, each after a space. What comes from the environment holds for the next command as well. */
export const sameWay = ({ attach, db }: AttachFlags): string => {
  const named = attach === undefined || attach === "auto" || attach === "off" ? "" : ` --attach=${quoted(attach)}`
  const kept = db === undefined ? "" : ` --db ${hasPassword(db) ? "URL" : quoted(db)}`
  return `${named}${kept}`
}
