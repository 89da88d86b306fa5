/** What is kept of a login: the client and the tokens of one server, by the issuer that they belong to. */
import {
  type AuthorizationServerMetadata,
  isSpecType,
  type OAuthDiscoveryState,
  type OAuthProtectedResourceMetadata,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { McpHost } from "../../McpHost.ts"

/** What belongs to one issuer. */
export interface Issued {
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
export const tokensOf = ({ issued, issuer }: LoginRecord): StoredOAuthTokens | undefined =>
  issuer === undefined ? undefined : issued[issuer]?.tokens
