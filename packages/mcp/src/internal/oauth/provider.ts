/** Gives the SDK's OAuth client what it needs for a login: who Skein is, what it has so far, and where a person signs in. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client"
import type { Issued, LoginRecord } from "./record.ts"
import { tokensOf } from "./record.ts"

/** How one login goes. */
export interface LoginWay {
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
