/** Logins to servers behind OAuth: what is kept, what is sent where, and that lies keep nothing. */
import { describe, expect, it } from "@effect/vitest"
import { resultOf, type ToolContext } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import { login, logout } from "@skein/mcp/McpLogin"
import { probe } from "@skein/mcp/McpProbe"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { makeAuthFetch } from "../src/internal/oauth.ts"
import { open, testHost } from "./support/host.ts"
import { browse, guarded, type Lies } from "./support/oauth.ts"

const signedIn = (lies: Lies = {}, show = browse, more: Partial<McpServerConfig> = {}) =>
  Effect.gen(function*() {
    const server = yield* guarded(lies)
    const machine = testHost({ variables: { PASS: "s3cret-0123" } })
    const config = { url: server.url, startup_timeout: 60_000, ...more }
    const result = yield* Effect.either(login(machine.host, { name: "guarded", config }, show))
    return { server, machine, config, result }
  })

const call = (source: Effect.Effect.Success<ReturnType<typeof open>>) =>
  Effect.flatMap(
    source.current()[0]?.execute(
      {},
      { readsOnly: false, report: () => Effect.void } as unknown as ToolContext,
      undefined
    )
      ?? Effect.dieMessage("there is no tool"),
    resultOf
  )

describe("a login", () => {
  it.scopedLive("gives the server's tools, and is kept under the exact URL and the issuer", () =>
    Effect.gen(function*() {
      const { config, machine, result, server } = yield* signedIn()
      const { origin } = new URL(server.url)
      expect(result).toEqual(Either.right({ issuer: origin }))
      expect([...machine.kept.keys()]).toEqual([server.url])
      const kept = JSON.parse(machine.kept.get(server.url) ?? "")
      expect(kept).toMatchObject({ issuer: origin, issued: { [origin]: { tokens: { access_token: "access-1" } } } })
      const source = yield* open({ guarded: config }, machine)
      yield* source.ready
      expect(yield* call(source)).toMatchObject({ output: "let in" })
    }))

  it.scopedLive("asks for a code that is of use to nobody else", () =>
    Effect.gen(function*() {
      const { server } = yield* signedIn()
      expect(Object.fromEntries(server.asked())).toMatchObject({
        response_type: "code",
        code_challenge_method: "S256",
        resource: server.url,
        redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
      })
      expect(server.asked().get("state")?.length).toBeGreaterThan(40)
    }))

  it.scopedLive("counts for its URL, whatever the server is called, and for no other URL", () =>
    Effect.gen(function*() {
      const { config, machine, server } = yield* signedIn()
      const again = yield* open({ other: config }, machine)
      yield* again.ready
      expect(again.current().map(({ name }) => name)).toEqual(["mcp_other_echo"])
      const before = server.seen.length
      const elsewhere = yield* open({ guarded: { ...config, url: `${server.url}?tenant=2` } }, machine)
      yield* elsewhere.ready
      expect(elsewhere.current()).toEqual([])
      expect(server.seen.slice(before).filter((line) => line.includes("access-"))).toEqual([])
    }))

  it.scopedLive("is renewed when its token has expired", () =>
    Effect.gen(function*() {
      const { config, machine, server } = yield* signedIn()
      const source = yield* open({ guarded: config }, machine)
      yield* source.ready
      server.expire()
      expect(yield* call(source)).toMatchObject({ output: "let in" })
      expect(machine.kept.get(server.url)).toContain("access-2")
    }))

  it.scopedLive("may be that of a client which the user registered, with its secret, and is renewed by it", () =>
    Effect.gen(function*() {
      const known = { client_id: "mine", client_secret: "${PASS}" }
      const { config, machine, result, server } = yield* signedIn({ secret: "s3cret-0123" }, browse, known)
      expect(Either.isRight(result)).toBe(true)
      const source = yield* open({ guarded: config }, machine)
      yield* source.ready
      server.expire()
      expect(yield* call(source)).toMatchObject({ output: "let in" })
      expect(machine.kept.get(server.url)).toContain("access-2")
      const other = yield* signedIn({ secret: "another" }, browse, known)
      expect(Either.isLeft(other.result) && other.result.left.message).toContain("did not work")
    }))

  it.scopedLive("is renewed once for all calls that need it, where a token to renew it counts once", () =>
    Effect.gen(function*() {
      const { config, machine, server } = yield* signedIn()
      const source = yield* open({ guarded: config }, machine)
      yield* source.ready
      server.expire()
      const results = yield* Effect.all([call(source), call(source), call(source)], { concurrency: "unbounded" })
      expect(results.map(({ output }) => output)).toEqual(["let in", "let in", "let in"])
      expect(machine.kept.get(server.url)).toContain("refresh-2")
    }))

  it.scopedLive("is renewed by whoever is first, where two processes try at once", () =>
    Effect.gen(function*() {
      const { config, machine, server } = yield* signedIn()
      const sources = yield* Effect.all([open({ guarded: config }, machine), open({ guarded: config }, machine)])
      for (const source of sources) yield* source.ready
      server.expire()
      const results = yield* Effect.all(sources.map(call), { concurrency: "unbounded" })
      expect(results.map(({ output }) => output)).toEqual(["let in", "let in"])
    }))

  it.scopedLive("that cannot be renewed says how to sign in again, and opens nothing", () =>
    Effect.gen(function*() {
      const { config, machine, server } = yield* signedIn()
      const source = yield* open({ guarded: config }, machine)
      yield* source.ready
      server.expire(true)
      const before = server.seen.length
      expect(yield* Effect.flip(call(source))).toMatchObject({
        message: expect.stringContaining("skein mcp login guarded")
      })
      expect(server.seen.slice(before).some((line) => line.startsWith("/authorize"))).toBe(false)
    }))

  it.scopedLive("is forgotten on request", () =>
    Effect.gen(function*() {
      const { config, machine } = yield* signedIn()
      expect(yield* logout(machine.host, { name: "guarded", config })).toBe(true)
      expect(machine.kept.size).toBe(0)
      expect(yield* logout(machine.host, { name: "guarded", config })).toBe(false)
    }))
})

it.scopedLive("a server that wants a login says so, and nothing is asked of anybody else", () =>
  Effect.gen(function*() {
    const server = yield* guarded()
    const target = { name: "guarded", config: { url: server.url }, directory: "/tmp", servers: [] }
    expect(yield* Effect.flip(probe(testHost().host, target))).toMatchObject({
      message: "The MCP server guarded cannot be used: it asks for a login; run `skein mcp login guarded`."
    })
    expect(new Set(server.seen)).toEqual(new Set(["/mcp -"]))
  }))

const metadata = "/.well-known/oauth-authorization-server"
const moved = (location: string) => () => ({ status: 307, headers: { location } })
const plain = (body: string) => () => ({ status: 200, body })
const huge = plain(JSON.stringify({ issuer: "x".repeat(10 * 1024 * 1024) }))

describe("nothing is kept of a login", () => {
  it.scopedLive.each<readonly [string, Lies, string]>([
    ["whose metadata names another issuer", { issuer: "https://evil.example" }, "ssuer"],
    ["that comes back from another issuer", { iss: "https://evil.example" }, "ssuer"],
    ["that comes back with another state", { state: "wrong" }, "an answer to another login"],
    ["that was refused", { error: "access_denied" }, "the login was refused: access_denied"],
    ["on a page that is not encrypted", { authorizationEndpoint: "http://evil.example/" }, "which is not encrypted"],
    ["that comes back without a state", { state: "" }, "an answer to another login"],
    ["that comes back without an issuer, though one was promised", { iss: "" }, "ssuer"],
    [
      "on a page that is a script",
      { authorizationEndpoint: "javascript:alert(1)" },
      "not work: it sent an invalid message"
    ],
    ["on a page that is a file", { authorizationEndpoint: "file:///etc/passwd" }, "only https pages are opened"],
    ["whose code would go unencrypted", { tokenEndpoint: "http://evil.example/token" }, "non-https token endpoint"],
    ["whose code would go to a file", { tokenEndpoint: "file:///etc/passwd" }, "non-https token endpoint"],
    ["at a private host", { authorizationServer: "https://169.254.169.254" }, "is not open to everybody"],
    ["at a host that is not encrypted", { authorizationServer: "http://evil.example" }, "is not open to everybody"],
    ["at no host at all", { authorizationServer: "file:///etc/passwd" }, "Invalid URL"],
    ["whose metadata is at another host", { answers: { [metadata]: moved("https://evil.example/") } }, "evil.example"],
    ["whose metadata is always elsewhere", { answers: { [metadata]: moved(metadata) } }, "redirects again and again"],
    ["whose metadata has no end", { answers: { [metadata]: huge } }, "more than 1 MB"],
    ["whose tokens come from another host", { answers: { "/token": moved("https://evil.example/") } }, "evil.example"],
    [
      "whose tokens are none",
      { answers: { "/token": plain("{\"access_token\":7}") } },
      "access_token: expected string"
    ],
    ["whose code would go to a private host", { tokenEndpoint: "https://10.0.0.1/token" }, "is not open to everybody"]
  ])("%s", ([, lies, message]) =>
    Effect.gen(function*() {
      const { machine, result } = yield* signedIn(lies)
      expect(result).toMatchObject({ left: { _tag: "LoginFailed", message: expect.stringContaining(message) } })
      expect(machine.kept.size).toBe(0)
    }))

  it.scopedLive("to a server that is not encrypted", () =>
    Effect.gen(function*() {
      const config = { url: "http://mcp.example.com/mcp" }
      expect(yield* Effect.flip(login(testHost().host, { name: "plain", config }, browse))).toMatchObject({
        message: expect.stringContaining("is not encrypted, so no token is sent there")
      })
    }))
})

it.effect("a host that does not end its answer is given up", () =>
  Effect.gen(function*() {
    const hangs = testHost({
      fetch: (_, init) =>
        new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)))
    })
    const send = makeAuthFetch(hangs.host, new URL("https://mcp.example.com"), 20)
    yield* Effect.promise(() =>
      expect(send("https://mcp.example.com/x")).rejects.toThrow("mcp.example.com did not answer within 0.02 s")
    )
  }))

it.scopedLive("a login listens only under the name that it gave to the server", () =>
  Effect.gen(function*() {
    // A page of another site sends the browser to the port of the login, under a name of its own.
    const { machine, result } = yield* signedIn({}, (page) =>
      Effect.gen(function*() {
        const back = new URL(page.searchParams.get("redirect_uri") ?? "")
        const answer = yield* Effect.promise(() =>
          fetch(new URL("/callback?code=x&state=y", `http://localhost:${back.port}`))
        )
        expect(answer.status).toBe(404)
        yield* browse(page)
      }))
    expect(Either.isRight(result)).toBe(true)
    expect(machine.kept.size).toBe(1)
  }))
