/** Owns logins: their records, what they may reach, how the browser comes back, and how a kept one is renewed. */
import {
  type AuthorizationServerMetadata,
  type AuthProvider,
  isSpecType,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  OAuthError,
  type OAuthProtectedResourceMetadata,
  refreshAuthorization,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens
} from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { McpHost } from "../McpHost.ts"
import { cleanLine } from "./content.ts"
import { ServerFailed } from "./failure.ts"
import { boundedFetch } from "./httpTransport.ts"

/** What belongs to one issuer. */
interface Issued {
  readonly client?: StoredOAuthClientInformation | undefined
  readonly tokens?: StoredOAuthTokens | undefined
}

/** A login. */
export interface LoginRecord {
  /** The exact URL of the server. */
  readonly url: string
  /** The issuer of the tokens in use. */
  readonly issuer?: string | undefined
  readonly issued: Readonly<Record<string, Issued>>
  readonly discovery?: OAuthDiscoveryState | undefined
}

const Client = Schema.declare((value): value is StoredOAuthClientInformation =>
  isSpecType.OAuthClientInformation(value)
)
const Tokens = Schema.declare((value): value is StoredOAuthTokens => isSpecType.OAuthTokens(value))
const ServerMetadata = Schema.declare((value): value is AuthorizationServerMetadata =>
  isSpecType.OAuthMetadata(value) || isSpecType.OpenIdProviderDiscoveryMetadata(value)
)
const ResourceMetadata = Schema.declare(
  (value): value is OAuthProtectedResourceMetadata => isSpecType.OAuthProtectedResourceMetadata(value)
)

const Kept = Schema.parseJson(Schema.Struct({
  version: Schema.Literal(1),
  url: Schema.String,
  issuer: Schema.optional(Schema.String),
  issued: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ client: Schema.optional(Client), tokens: Schema.optional(Tokens) })
  }),
  discovery: Schema.optional(Schema.Struct({
    authorizationServerUrl: Schema.String,
    authorizationServerMetadata: Schema.optionalWith(ServerMetadata, { exact: true }),
    resourceMetadata: Schema.optionalWith(ResourceMetadata, { exact: true }),
    resourceMetadataUrl: Schema.optionalWith(Schema.String, { exact: true })
  }))
}))

/** Reads the login of a URL; none if nothing usable is kept for exactly this URL. */
export const readLogin = ({ credentials }: Pick<McpHost, "credentials">, url: string) =>
  credentials.read(url).pipe(
    Effect.flatMap((text) => Schema.decode(Kept)(text ?? "")),
    Effect.map((kept): LoginRecord => kept),
    Effect.option,
    Effect.map(Option.filter((kept) => kept.url === url))
  )

/** Keeps a login. */
export const writeLogin = ({ credentials }: Pick<McpHost, "credentials">, record: LoginRecord) =>
  credentials.write(record.url, JSON.stringify({ version: 1, ...record }))

/** The tokens in use. */
const tokensOf = ({ issued, issuer }: LoginRecord): StoredOAuthTokens | undefined =>
  issuer === undefined ? undefined : issued[issuer]?.tokens

/** How long an answer may be, in bytes, and how long it may take, in milliseconds. */
const most = { bytes: 1024 * 1024, time: 30_000 } as const

/** Whether a host is this machine. */
export const isHere = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"

/** An answer that has come whole. */
const readWhole = async (answer: Response): Promise<Response> => {
  const { headers, status, statusText } = answer
  const body = await answer.arrayBuffer()
  return new Response(body.byteLength === 0 ? null : body, { headers, status, statusText })
}

/**
 * Makes what sends the requests of a login. The server's own origin is the user's choice; all else must be open to
 * everybody. A server on this machine may name others on this machine.
 */
export const makeAuthFetch = (
  host: Pick<McpHost, "fetch" | "fetchPublic">,
  server: URL,
  patience: number = most.time
): McpHost["fetch"] => {
  const own = boundedFetch(host.fetch, most.bytes)
  return async (to, init = {}) => {
    const url = new URL(to)
    const isOwn = url.origin === server.origin || (isHere(server) && isHere(url))
    const late = AbortSignal.timeout(patience)
    const signal = init.signal ? AbortSignal.any([init.signal, late]) : late
    return (isOwn ? own : host.fetchPublic)(url, { ...init, signal }).then(readWhole).catch((error: unknown) => {
      throw late.aborted ? new Error(`${url.host} did not answer within ${patience / 1000} s`) : error
    })
  }
}

/** What a browser brings back. */
interface Returned {
  readonly code: string
  readonly iss: string | undefined
}

const say = (response: ServerResponse, status: number, words: string) =>
  void response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close"
  }).end(`${words}\n`)

const failed = (message: string) => new ServerFailed({ message })

/** What the parameters of an answer mean. */
const readReturn = (query: URLSearchParams, state: string): Effect.Effect<Returned, ServerFailed> => {
  const [code, error, given] = [query.get("code"), query.get("error"), query.get("state")]
  if (given !== state) return failed("the browser came back with an answer to another login; try again")
  if (error !== null) {
    const why = query.get("error_description")
    return failed(`the login was refused: ${cleanLine(why === null ? error : `${error}, ${why}`, 300)}`)
  }
  return code === null
    ? failed("the browser came back without a code")
    : Effect.succeed({ code, iss: query.get("iss") ?? undefined })
}

/** Listens until the scope closes; `port` 0 stands for a free one. */
export const listen = (port: number, state: string) =>
  Effect.gen(function*() {
    const returned = yield* Deferred.make<Returned, ServerFailed>()
    const { url } = yield* Effect.acquireRelease(
      Effect.async<{ readonly close: () => void; readonly url: string }, ServerFailed>((resume) => {
        const server = createServer((request, response) => {
          const asked = new URL(request.url ?? "/", "http://127.0.0.1")
          const address = server.address() as AddressInfo | null
          const isMeant = request.headers.host === `127.0.0.1:${address?.port}`
          if (!isMeant || request.method !== "GET" || asked.pathname !== "/callback") {
            return say(response, 404, "Not found")
          }
          const answer = readReturn(asked.searchParams, state)
          Deferred.unsafeDone(returned, answer)
          say(response, 200, "You can close this page. The terminal shows whether the login worked.")
        })
        server.once("error", ({ message }) => resume(failed(`no port for the login could be opened: ${message}`)))
        server.listen(port, "127.0.0.1", () =>
          resume(Effect.succeed({
            url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })))
      }),
      ({ close }) => Effect.sync(close)
    )
    return { url, returned: Deferred.await(returned) }
  })

/** How one login goes. */
interface LoginWay {
  readonly get: () => LoginRecord
  readonly set: (next: LoginRecord) => void
  /** Where the person's browser is sent back to. */
  readonly redirectUrl: string
  /** An id that the user registered, or the https URL of a document that describes the client. */
  readonly clientId?: string | undefined
  /** The secret of an id that the user registered. */
  readonly clientSecret?: string | undefined
  readonly state: string
  /** Shows a person where to sign in. */
  readonly signIn: (url: URL) => Promise<void>
}

const isDocument = (clientId: string | undefined): clientId is string =>
  clientId !== undefined && URL.canParse(clientId) && new URL(clientId).protocol === "https:"
  && new URL(clientId).pathname !== "/"

/** Makes it. */
export const makeProvider = (way: LoginWay): OAuthClientProvider => {
  const { clientId, clientSecret, get, redirectUrl, set, signIn, state } = way
  let verifier = ""
  const issuerOf = (context: { readonly issuer: string } | undefined): string => context?.issuer ?? get().issuer ?? ""
  const put = (issuer: string, change: (before: Issued) => Issued, more: Partial<LoginRecord> = {}) => {
    const record = get()
    return set({ ...record, ...more, issued: { ...record.issued, [issuer]: change(record.issued[issuer] ?? {}) } })
  }
  const secret = clientSecret === undefined ? {} : { client_secret: clientSecret }
  const registeredWith = (issuer: string) =>
    clientId === undefined || isDocument(clientId) ? undefined : { client_id: clientId, issuer, ...secret }
  return {
    redirectUrl,
    ...(isDocument(clientId) ? { clientMetadataUrl: clientId } : {}),
    clientMetadata: {
      client_name: "Skein",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    },
    state: () => state,
    clientInformation: (context) => get().issued[issuerOf(context)]?.client ?? registeredWith(issuerOf(context)),
    saveClientInformation: (client, context) => put(issuerOf(context), (before) => ({ ...before, client })),
    tokens: (context) => context === undefined ? tokensOf(get()) : get().issued[context.issuer]?.tokens,
    saveTokens: (tokens, context) => {
      const issuer = issuerOf(context)
      // The client is needed to renew the tokens.
      return put(issuer, ({ client = registeredWith(issuer) }) => ({ client, tokens }), { issuer })
    },
    redirectToAuthorization: signIn,
    saveCodeVerifier: (made) => {
      verifier = made
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (discovery) => set({ ...get(), discovery }),
    discoveryState: () => get().discovery
  }
}

/** What a server says that wants a login, as people read it. */
export const needsLogin = (name: string): string => `it asks for a login; run \`skein mcp login ${name}\``

/** Renews the tokens of a login. Fails if a person has to sign in again. */
const renewed = async (record: LoginRecord, name: string, fetchFn: McpHost["fetch"]): Promise<LoginRecord> => {
  const { discovery, issued, issuer = "" } = record
  const { client, tokens } = issued[issuer] ?? {}
  if (client === undefined || discovery === undefined || tokens?.refresh_token === undefined) {
    throw new Error(needsLogin(name))
  }
  const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = discovery
  const fresh = await refreshAuthorization(authorizationServerUrl, {
    ...(metadata === undefined ? {} : { metadata }),
    ...(resourceMetadata === undefined ? {} : { resource: new URL(resourceMetadata.resource) }),
    clientInformation: client,
    refreshToken: tokens.refresh_token,
    fetchFn
  }).catch((error: unknown) => {
    throw error instanceof OAuthError ? new Error(needsLogin(name)) : error
  })
  return { ...record, issued: { ...issued, [issuer]: { client, tokens: { ...tokens, ...fresh } } } }
}

/** The login of a server at a URL; undefined if none is kept for exactly this URL. */
export const keptLogin = (
  host: Pick<McpHost, "credentials">,
  name: string,
  url: string,
  fetchFn: McpHost["fetch"]
): Effect.Effect<AuthProvider | undefined> =>
  Effect.map(
    readLogin(host, url),
    Option.match({
      onNone: () => undefined,
      onSome: (found) => {
        let record = found
        let renewing: Promise<void> | undefined
        const latest = async () => Option.getOrElse(await Effect.runPromise(readLogin(host, url)), () => record)
        const isOther = (other: LoginRecord) => tokensOf(other)?.access_token !== tokensOf(record)?.access_token
        const renew = async () => {
          const kept = await latest()
          // Another process has renewed it in the meantime.
          if (isOther(kept)) {
            record = kept
            return
          }
          try {
            record = await renewed(kept, name, fetchFn)
          } catch (error) {
            // Two processes may renew it at once, and a token to renew it counts once: the other one was first.
            const after = await latest()
            if (!isOther(after)) throw error
            record = after
            return
          }
          await Effect.runPromise(writeLogin(host, record))
        }
        return {
          token: () => Promise.resolve(tokensOf(record)?.access_token),
          // All requests that are refused at a time wait for one renewal.
          onUnauthorized: () =>
            renewing ??= renew().finally(() => {
              renewing = undefined
            })
        }
      }
    })
  )
