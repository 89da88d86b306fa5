/** An MCP server behind OAuth 2.1, with its authorization server beside it; it can lie in several ways. */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

/** What it gets wrong. */
export interface Lies {
  /** The issuer in the metadata. */
  readonly issuer?: string
  /** What the browser brings back. */
  readonly iss?: string
  readonly state?: string
  readonly error?: string
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  /** The secret that the client `mine` has to know. */
  readonly secret?: string
  /** What the MCP server says where to sign in. */
  readonly authorizationServer?: string
  /** Answers in another way at a path. */
  readonly answers?: Readonly<Record<string, (base: string) => Answer>>
}

/** A plain answer. */
interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A server that runs. */
interface Guarded {
  readonly url: string
  /** The paths that were asked for, with their tokens. */
  readonly seen: ReadonlyArray<string>
  /** What the last authorization request asked for. */
  readonly asked: () => URLSearchParams
  /** The tokens that it gave so far are of no use any more; with `all`, the ones to renew them neither. */
  readonly expire: (all?: boolean) => void
}

const bodyOf = (request: IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let body = ""
    request.on("data", (bytes: Buffer) => body += bytes.toString("utf8"))
    request.once("end", () => resolve(body))
  })

const results = (id: unknown, method: string, version: unknown) => {
  const known: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: "guarded", version: "1" }
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "let in" }] }
  }
  const result = known[method]
  return { jsonrpc: "2.0", id, ...(result === undefined ? { error: { code: -32601, message: "?" } } : { result }) }
}

/** Starts one. */
export const guarded = (lies: Lies = {}) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly started: Guarded; readonly close: () => void }>((resume) => {
        const seen: Array<string> = []
        let challenge = ""
        let count = 0
        let access: string | undefined
        let refresh: string | undefined
        let asked = new URLSearchParams()
        const server = createServer((request, response) => {
          const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
          const { pathname, searchParams } = new URL(request.url ?? "/", base)
          const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}) =>
            void response.writeHead(status, { "content-type": "application/json", ...headers }).end(
              JSON.stringify(value)
            )
          seen.push(`${pathname} ${request.headers.authorization ?? "-"}`)
          const give = () => {
            count++
            access = `access-${count}`
            refresh = `refresh-${count}`
            json(200, { access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 60 })
          }
          const other = lies.answers?.[pathname]?.(base)
          if (other !== undefined) {
            return void response.writeHead(other.status, { "content-type": "application/json", ...other.headers })
              .end(other.body)
          }
          switch (pathname) {
            case "/.well-known/oauth-protected-resource/mcp":
              return json(200, { resource: `${base}/mcp`, authorization_servers: [lies.authorizationServer ?? base] })
            case "/.well-known/oauth-authorization-server":
              return json(200, {
                issuer: lies.issuer ?? base,
                authorization_endpoint: lies.authorizationEndpoint ?? `${base}/authorize`,
                token_endpoint: lies.tokenEndpoint ?? `${base}/token`,
                registration_endpoint: `${base}/register`,
                response_types_supported: ["code"],
                ...(lies.secret === undefined ? {} : {
                  token_endpoint_auth_methods_supported: ["client_secret_basic"]
                }),
                code_challenge_methods_supported: ["S256"],
                authorization_response_iss_parameter_supported: true
              })
            case "/register":
              return void bodyOf(request).then((body) => json(201, { ...JSON.parse(body), client_id: "client-1" }))
            case "/authorize": {
              asked = searchParams
              challenge = searchParams.get("code_challenge") ?? ""
              const to = new URL(searchParams.get("redirect_uri") ?? "")
              if (lies.error === undefined) to.searchParams.set("code", "code-1")
              else to.searchParams.set("error", lies.error)
              to.searchParams.set("state", lies.state ?? searchParams.get("state") ?? "")
              to.searchParams.set("iss", lies.iss ?? base)
              for (const name of ["state", "iss"]) if (to.searchParams.get(name) === "") to.searchParams.delete(name)
              return void response.writeHead(302, { location: to.href }).end()
            }
            case "/token":
              return void bodyOf(request).then((body) => {
                const form = new URLSearchParams(body)
                const isRefresh = form.get("grant_type") === "refresh_token"
                const verified =
                  createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url") === challenge
                const isRight = isRefresh
                  ? form.get("refresh_token") === refresh
                  : form.get("code") === "code-1" && verified
                const basic = Buffer.from(request.headers.authorization?.slice("Basic ".length) ?? "", "base64")
                  .toString()
                const isKnown = lies.secret === undefined || basic === `mine:${lies.secret}`
                if (!isKnown) return json(401, { error: "invalid_client" })
                return isRight ? give() : json(400, { error: "invalid_grant" })
              })
            case "/mcp":
              if (access === undefined || request.headers.authorization !== `Bearer ${access}`) {
                const metadata = `${base}/.well-known/oauth-protected-resource/mcp`
                return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}"` })
              }
              if (request.method !== "POST") return void response.writeHead(405).end()
              return void bodyOf(request).then((body) => {
                const { id, method, params } = JSON.parse(body)
                return id === undefined
                  ? void response.writeHead(202).end()
                  : json(200, results(id, method, params?.protocolVersion))
              })
            default:
              return json(404, {})
          }
        })
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({
            started: {
              url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
              seen,
              asked: () => asked,
              expire: (all = false) => {
                access = undefined
                if (all) refresh = undefined
              }
            },
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })))
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ started }) => started
  )

/** A browser whose user agrees to everything. */
export const browse = (page: URL): Effect.Effect<void> =>
  Effect.promise(() => fetch(page).then((answer) => answer.text()))

// As a program it says where it listens, and runs until it is ended.
if (process.argv[1] === import.meta.filename) {
  Effect.runFork(
    Effect.scoped(
      Effect.zipRight(
        Effect.tap(guarded(), ({ url }) => Effect.sync(() => process.stdout.write(`${url}\n`))),
        Effect.never
      )
    )
  )
}
