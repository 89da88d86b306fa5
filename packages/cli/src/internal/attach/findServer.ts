/** Finds the server that a command works through. Verifies that it is that server before it gets the token. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import { directUrl } from "@skein/api/Handshake"
import type { Cluster } from "@skein/api/Output"
import type { ServerFile } from "@skein/api/ServerFile"
import type { ServerTarget } from "@skein/backend/ServerOptions"
import * as LocalServer from "@skein/client/LocalServer"
import * as SkeinClient from "@skein/client/SkeinClient"
import { unexpectedText } from "@skein/client/Unexpected"
import { DataDirs, realPath } from "@skein/config/DataDirs"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { UsageError } from "../../ExitCode.ts"
import { version } from "../version.ts"

/** The canonical name of a database, without user and password. */
const canonicalName = (database: string): string =>
  isPostgres(database) ? place(database) : database === ":memory:" ? database : realPath(database)

/** The file that describes the server of this database. */
export const serverFile = Effect.map(
  DataDirs,
  ({ database, servers }) => LocalServer.fileOf(servers, canonicalName(database))
)

/** A server that was found, and how to find it again. */
export interface Found {
  readonly server: ServerTarget
  readonly locate: Effect.Effect<Option.Option<ServerTarget>>
  /** The URLs of other servers of its cluster that the user named. */
  readonly others?: ReadonlyArray<string>
}

const targetOf = ({ token, ...server }: Pick<ServerFile, "token" | "url" | "version">): ServerTarget => ({
  url: server.url,
  version: server.version,
  token: Redacted.make(token)
})

/** The server of the database, whatever its version; undefined if none is running. */
const ofDatabase = Effect.map(
  Effect.flatMap(serverFile, LocalServer.find),
  Option.map(targetOf)
).pipe(Effect.provide(FetchHttpClient.layer))

/** The server of the database. `note` gets the reason why a running server is not used. */
export const findAuto = Effect.fnUntraced(function*(note: (line: string) => void) {
  const services = yield* Effect.context<Effect.Effect.Context<typeof ofDatabase>>()
  const found = Option.getOrUndefined(yield* ofDatabase)
  if (found === undefined) return undefined
  if (found.version !== version) {
    note(
      `The server at ${found.url} has version ${found.version}, and this is ${version}: this command does not use it. `
        + "Restart the server to attach: skein serve --stop, then skein serve --detach."
    )
    return undefined
  }
  const locate = Effect.map(ofDatabase, Option.filter((again) => again.version === version))
  return { server: found, locate: Effect.provide(locate, services) } satisfies Found
})

const refuse = (message: string) => new UsageError({ message })

/** The URL in the form in which servers write theirs. */
const readUrl = (text: string): Effect.Effect<string, UsageError> => {
  const url = Either.getOrUndefined(Either.try(() => new URL(text)))
  const isServer = (url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.search === ""
    && url.hash === ""
  return isServer
    ? Effect.succeed(text.replace(/\/+$/, ""))
    : refuse(
      `--attach takes auto, off, or a server's URL such as http://127.0.0.1:4096 (several with commas), and got ${
        JSON.stringify(text)
      }.`
    )
}

/** What the files of this user's servers say about the server at a URL. */
const tokenInFiles = Effect.fnUntraced(function*(url: string) {
  const { servers } = yield* DataDirs
  const names = Either.getOrElse(Either.try(() => readdirSync(servers)), (): ReadonlyArray<string> => [])
  const files = yield* Effect.forEach(
    names.filter((name) => name.endsWith(".json")),
    (name) => LocalServer.read(join(servers, name))
  )
  const dialled = directUrl(url)
  const isAt = (own: string | undefined) => own !== undefined && directUrl(own) === dialled
  return files.flatMap(Option.toArray).find((file) => isAt(file.url) || isAt(file.publicUrl))?.token
})

const tokenOf = Effect.fnUntraced(function*(url: string) {
  const named = yield* Effect.orElseSucceed(
    Config.option(Config.nonEmptyString("SKEIN_TOKEN")),
    () => Option.none<string>()
  )
  return Option.isSome(named) ? named.value : yield* tokenInFiles(url)
})

/** Each machine has such addresses for itself, so a server that listens on another one proves nothing for them. */
const isLoopbackUrl = (url: string): boolean => /^(?:localhost|\[::1\]|127\..*)$/.test(new URL(url).hostname)

/** Why a server does not get the token, and how to fix it. */
const whyUnproven = (url: string, { code, reason }: LocalServer.NotProven): string => {
  switch (reason) {
    case "foreign_host":
      return `The server at ${url} does not know that address as its own. `
        + `If a proxy serves it there, start it with that address: skein serve --public-url ${new URL(url).origin}.${
          isLoopbackUrl(url)
            ? " If it listens on an address that is not of loopback, as behind `ssh -L`, give --attach that one instead."
            : ""
        } The token was not sent.`
    case "other_token":
      return `The server at ${url} has another token. Set SKEIN_TOKEN to the one that it was started with, or leave it unset if \`skein serve\` runs as your user on this machine; the token was not sent.`
    case "redirected":
      return `${url} leads to another address. Give --attach that one; the token was not sent.`
    case "unreachable":
      return `No server answers at ${directUrl(url)}${code === undefined ? "" : ` (${code})`}. ${
        directUrl(url) === url ? "" : "localhost stands for 127.0.0.1: for another address, name that. "
      }Check the URL${
        url.startsWith("https:") ? " and its certificate (NODE_EXTRA_CA_CERTS names a file of your own authority)" : ""
      }; the token was not sent.`
    case "stranger":
      return `No Skein server answers at ${url}. Check the URL and the version of the server; the token was not sent.`
  }
}

/** The server at a URL. It is an error if it cannot be used. */
const findAt = Effect.fnUntraced(function*(url: string) {
  const services = yield* Effect.context<HttpClient.HttpClient | Effect.Effect.Context<ReturnType<typeof tokenOf>>>()
  const token = yield* tokenOf(url)
  if (token === undefined) {
    return yield* refuse(
      `No token is known for the server at ${url}. Set SKEIN_TOKEN to it; \`skein serve\` keeps it in a file of its user.`
    )
  }
  const proven = yield* Effect.mapError(LocalServer.prove({ url, token }), (error) => refuse(whyUnproven(url, error)))
  if (proven !== version) {
    return yield* refuse(
      `The server at ${url} has version ${proven}, and this is ${version}. Use the same version on both sides.`
    )
  }
  const client = yield* SkeinClient.make({ url, token: Redacted.make(token) })
  yield* Effect.mapError(client.server.about(), (error) =>
    refuse(
      `The server at ${url} does not answer as it should (${unexpectedText(error)}).`
    ))
  const server = targetOf({ url, token, version })
  // By then another program may listen on its port.
  const again = Effect.gen(function*() {
    const now = (yield* tokenOf(url)) ?? token
    const isGenuine = yield* LocalServer.isGenuine({ url, token: now })
    return isGenuine ? Option.some(now === token ? server : targetOf({ url, token: now, version })) : Option.none()
  })
  return { server, locate: Effect.provide(again, services) } satisfies Found
}, Effect.provide(FetchHttpClient.layer))

/** The server at the URL that the user named, or the first of several that can be used. It is an error if none can. */
export const findNamed = Effect.fnUntraced(function*(text: string) {
  const urls = yield* Effect.forEach(text.split(","), (each) => readUrl(each.trim()))
  const errors: Array<string> = []
  for (const url of urls) {
    const found = yield* Effect.either(findAt(url))
    if (Either.isRight(found)) return { ...found.right, others: urls.filter((each) => each !== url) } satisfies Found
    errors.push(found.left.message)
  }
  return yield* refuse(errors.join(" "))
})

/** The servers of its cluster, their trees and takeovers, as it sees them. */
export const askCluster = ({ server: { token, url } }: Found): Effect.Effect<Cluster, UsageError> =>
  Effect.flatMap(SkeinClient.make({ token, url }), ({ server }) => server.cluster()).pipe(
    Effect.mapError((error) => new UsageError({ message: `The server at ${url}: ${unexpectedText(error)}` })),
    Effect.provide(FetchHttpClient.layer)
  )
