/** Owns the logins of browsers: codes that work once, and pairs of a cookie and a key. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { type HandshakeQuestion, handshakeText } from "@skein/api/Handshake"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

const scheme = /^bearer /i

/** Makes the check. Its duration reveals nothing about the token. */
export const makeTokenCheck = (token: Redacted.Redacted) => {
  const expected = Buffer.from(Redacted.value(token))
  return ({ headers: { authorization = "" } }: IncomingMessage): boolean => {
    if (!scheme.test(authorization)) return false
    const given = Buffer.from(authorization.slice("Bearer ".length).trim())
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/** The answer to a handshake: only a server with the token can give it. */
export const prove = (token: Redacted.Redacted, question: HandshakeQuestion, version: string): string =>
  createHmac("sha256", Redacted.value(token)).update(handshakeText(question, version)).digest("hex")

/** How long a code is valid, in milliseconds. */
const codeLifetime = 60_000

/** How long a login is valid, in milliseconds. */
const loginLifetime = 30 * 24 * 60 * 60_000

/** The maximum number of codes and logins. The oldest end first. */
const most = { codes: 16, logins: 64 }

const Stored = Schema.parseJson(
  Schema.Array(Schema.Struct({ cookie: Schema.String, key: Schema.String, created: Schema.Number }))
)

/** A login: digests of its halves. */
type Login = (typeof Stored.Type)[number]

const digest = (text: string): string => createHash("sha256").update(text).digest("hex")

const isSame = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

const random = (): string => randomBytes(32).toString("base64url")

/** Reads one cookie of a request. */
const cookieOf = (request: IncomingMessage, name: string): string | undefined => {
  for (const each of (request.headers.cookie ?? "").split(";")) {
    const at = each.indexOf("=")
    if (at > 0 && each.slice(0, at).trim() === name) return each.slice(at + 1).trim()
  }
  return undefined
}

/** What storing logins needs. */
interface LoginOptions {
  readonly port: number
  readonly fileSystem: FileSystem.FileSystem
  /** Where they are stored; if absent, only in memory. */
  readonly file: string | undefined
}

/** Makes the logins of a server. */
export const makeLogins = Effect.fnUntraced(function*({ file, fileSystem, port }: LoginOptions) {
  // Cookies belong to a host, whatever the port. So several servers on one host need different names.
  const name = `skein-${port}`
  const codes = new Map<string, number>()
  let logins: ReadonlyArray<Login> = file === undefined ? [] : yield* fileSystem.readFileString(file).pipe(
    Effect.flatMap(Schema.decode(Stored)),
    Effect.orElseSucceed((): ReadonlyArray<Login> => [])
  )

  const store = Effect.suspend(() =>
    file === undefined ? Effect.void : Effect.flatMap(Schema.encode(Stored)(logins), (text) =>
      Effect.zipRight(
        fileSystem.writeFileString(`${file}.new`, text, { mode: 0o600 }),
        fileSystem.rename(`${file}.new`, file)
      ))
  ).pipe(Effect.catchAll((error) => Effect.logWarning("A login cannot be kept beyond this run", error.message)))

  const loginOf = (request: IncomingMessage): Login | undefined => {
    const { "skein-key": key } = request.headers
    const cookie = cookieOf(request, name)
    if (typeof key !== "string" || cookie === undefined) return undefined
    const given = { cookie: digest(cookie), key: digest(key) }
    return logins.find((each) => isSame(each.cookie, given.cookie) && isSame(each.key, given.key))
  }

  return {
    /** Makes a code. */
    code: Effect.map(Clock.currentTimeMillis, (now) => {
      const code = random()
      codes.set(digest(code), now + codeLifetime)
      for (const each of codes.keys()) if (codes.size > most.codes) codes.delete(each)
      return { code, expires: now + codeLifetime }
    }),
    /** Exchanges a code; undefined if it is invalid, or was used. With `isSecure`, browsers send the cookie by TLS alone. */
    exchange: (code: string, isSecure: boolean) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const expires = codes.get(digest(code))
        codes.delete(digest(code))
        if (expires === undefined || expires < now) return undefined
        const cookie = random()
        const key = random()
        const login = { cookie: digest(cookie), key: digest(key), created: now }
        logins = [...logins.filter(({ created }) => created > now - loginLifetime), login].slice(-most.logins)
        yield* store
        const seconds = loginLifetime / 1_000
        const secure = isSecure ? "; Secure" : ""
        return { key, cookie: `${name}=${cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}` }
      }),
    /** Whether a request carries both halves of a login. */
    has: (request: IncomingMessage): boolean => loginOf(request) !== undefined,
    /** Ends the login that the request carries. */
    end: (request: IncomingMessage) =>
      Effect.suspend(() => {
        const login = loginOf(request)
        logins = logins.filter((each) => each !== login)
        return login === undefined ? Effect.void : store
      })
  }
})

/** The logins of a server. */
export type Logins = Effect.Effect.Success<ReturnType<typeof makeLogins>>
