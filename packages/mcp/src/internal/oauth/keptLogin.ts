/** Uses a login that is kept: sends its token and renews it, and asks nobody to sign in. */
import { type AuthProvider, OAuthError, refreshAuthorization } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { McpHost } from "../../McpHost.ts"
import { type LoginRecord, readLogin, tokensOf, writeLogin } from "./record.ts"

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
