/** Signs the user in to an MCP server over OAuth 2.1, and out again. */
import { auth, extractWWWAuthenticateParams } from "@modelcontextprotocol/client"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import { fillIn } from "./internal/connect.ts"
import { ServerFailed, wordsOf } from "./internal/failure.ts"
import {
  isHere,
  listen,
  type LoginRecord,
  makeAuthFetch,
  makeProvider,
  readLogin,
  writeLogin
} from "./internal/oauth.ts"
import type { McpHost } from "./McpHost.ts"

/** A login did not work; nothing was changed. */
export class LoginFailed extends Schema.TaggedError<LoginFailed>()("LoginFailed", {
  name: Schema.String,
  message: Schema.String
}) {}

/** Where to sign in. */
export interface LoginTarget {
  readonly name: string
  readonly config: McpServerConfig
}

/** How long a person has to sign in. */
const patience = "10 minutes"

const failedWith = ({ redact }: McpHost) => (cause: unknown) => new ServerFailed({ message: redact(wordsOf(cause)) })

/** The URL of a server, as its tokens are kept by it. */
const urlOf = Effect.fnUntraced(function*({ url = "" }: McpServerConfig) {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    return yield* new ServerFailed({ message: "only servers at an http(s) URL ask for a login" })
  }
  const where = new URL(url)
  if (where.protocol === "http:" && !isHere(where)) {
    return yield* new ServerFailed({ message: `${where.origin} is not encrypted, so no token is sent there` })
  }
  return where
})

/** What a server asks of who comes without a token. */
const challenge = Effect.fnUntraced(function*(url: URL, send: McpHost["fetch"], host: McpHost) {
  const response = yield* Effect.tryPromise({
    try: (signal) =>
      send(url, {
        signal,
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" })
      }).then(async (answer) => {
        await answer.body?.cancel()
        return answer
      }),
    catch: failedWith(host)
  })
  return extractWWWAuthenticateParams(response)
})

/** Where a person signs in must be a page that nobody on the way can change. */
const checkPage = (page: URL, server: URL): string | undefined =>
  page.protocol === "https:" || (isHere(server) && page.protocol === "http:" && isHere(page))
    ? undefined
    : page.protocol === "http:"
    ? `it wants you to sign in at ${page.origin}, which is not encrypted`
    : `it wants you to sign in at a ${page.protocol} URL, and only https pages are opened`

const signIn = Effect.fnUntraced(function*(
  host: McpHost,
  target: LoginTarget,
  show: (page: URL) => Effect.Effect<void>
) {
  const config = yield* fillIn(target.config, host)
  host.hide(config)
  const { client_id: clientId, client_secret: clientSecret, login_port: port = 0 } = config
  const url = yield* urlOf(config)
  const fetchFn = makeAuthFetch(host, url)
  const { resourceMetadataUrl, scope } = yield* challenge(url, fetchFn, host)
  const state = randomBytes(32).toString("base64url")
  const { redirectUrl, returned } = yield* Effect.map(listen(port, state), (each) => ({
    redirectUrl: each.url,
    returned: each.returned
  }))
  // Nothing is kept before all of it worked.
  let record: LoginRecord = { url: url.href, issued: {} }
  const provider = makeProvider({
    get: () => record,
    set: (next) => {
      record = next
    },
    redirectUrl,
    clientId,
    clientSecret,
    state,
    signIn: (page) => {
      const fault = checkPage(page, url)
      return fault === undefined ? Effect.runPromise(show(page)) : Promise.reject(new Error(fault))
    }
  })
  const ask = (more: { readonly authorizationCode?: string; readonly iss?: string }) =>
    Effect.tryPromise({
      try: () =>
        auth(provider, {
          serverUrl: url,
          fetchFn,
          ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
          ...(scope === undefined ? {} : { scope }),
          ...more
        }),
      catch: failedWith(host)
    })
  yield* ask({})
  const { code, iss } = yield* Effect.timeoutFail(returned, {
    duration: patience,
    onTimeout: () => new ServerFailed({ message: `nobody signed in within ${patience}` })
  })
  yield* ask({ authorizationCode: code, ...(iss === undefined ? {} : { iss }) })
  yield* Effect.mapError(writeLogin(host, record), ({ message }) => new ServerFailed({ message }))
  return { issuer: record.issuer ?? "" }
})

const named = ({ name }: LoginTarget) => ({ message }: { readonly message: string }) =>
  new LoginFailed({ name, message: `The login to the MCP server ${name} did not work: ${message}.` })

/**
 * Signs in: `show` is given the page on which a person does so. Keeps the tokens under the exact URL of the server and the
 * issuer that gave them, never under the server's name.
 */
export const login = (
  host: McpHost,
  target: LoginTarget,
  show: (page: URL) => Effect.Effect<void>
): Effect.Effect<{ readonly issuer: string }, LoginFailed> =>
  Effect.mapError(Effect.scoped(signIn(host, target, show)), named(target))

/** Forgets the tokens of a server; tells whether there were any. */
export const logout = (host: McpHost, target: LoginTarget): Effect.Effect<boolean, LoginFailed> =>
  Effect.gen(function*() {
    const { href } = yield* Effect.flatMap(fillIn(target.config, host), urlOf)
    const kept = yield* readLogin(host, href)
    yield* host.credentials.remove(href)
    return Option.isSome(kept)
  }).pipe(Effect.mapError(named(target)))
