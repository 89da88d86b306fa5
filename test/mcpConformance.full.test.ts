/** The official conformance suite of MCP against what Skein serves, by both revisions. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as McpEndpoint from "@skein/mcp/McpEndpoint"
import { Server } from "@skein/server/Server"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, describe, expect, it } from "vitest"
import { sandbox } from "./support/cli.ts"
import { fixture } from "./support/mcpFixture.ts"
import { startServer } from "./support/server.ts"

const suite = fileURLToPath(new URL("../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url))

const expectedFailures = (name: string): string =>
  fileURLToPath(new URL(`fixtures/conformance/${name}.yaml`, import.meta.url))

const open: Array<() => unknown> = []
afterAll(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

/** The suite has no token: this puts it into its requests, and leaves all else as it is but the port. */
const withToken = async (target: string, token: string): Promise<string> => {
  const { port } = new URL(target)
  const proxy = createServer((asked, answer) => {
    const { port: own } = proxy.address() as AddressInfo
    const there = (value: string | undefined) => value?.replace(`:${own}`, `:${port}`)
    const headers = { ...asked.headers, authorization: `Bearer ${token}` }
    for (const name of ["host", "origin"] as const) {
      const value = there(asked.headers[name])
      if (value !== undefined) headers[name] = value
    }
    const passed = request({ port, host: "127.0.0.1", path: asked.url, method: asked.method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    passed.on("error", () => answer.destroy())
    answer.on("close", () => passed.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve))
  open.push(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`
}

/** The suite and the client are started fifty times: they are compiled once. */
const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), "skein-conformance-cache") }

/** Runs the suite; gives its exit code and what it says. */
const run = (args: ReadonlyArray<string>): Promise<{ readonly code: number | null; readonly output: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.on("data", (piece: Buffer) => output += piece.toString("utf8"))
    child.stderr.on("data", (piece: Buffer) => output += piece.toString("utf8"))
    child.once("close", (code) => resolve({ code, output }))
  })

/** The server of Skein with the fixture behind it: its gate, its endpoint, its sessions. */
const startFixture = async (): Promise<string> => {
  const token = "0123456789abcdef0123456789abcdef"
  const scope = Effect.runSync(Scope.make())
  open.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const layer = Server.layer({
    hostname: "127.0.0.1",
    port: 0,
    token: Redacted.make(token),
    version: "0.0.0-test",
    resume: false,
    projectOf: Effect.succeed,
    mcp: McpEndpoint.make(fixture)
  }).pipe(Layer.provide(Layer.mergeAll(SkeinTest.layer({}), NodeFileSystem.layer)))
  const url = await Effect.runPromise(
    Effect.map(
      Scope.extend(Layer.build(layer), scope),
      (context) => Effect.runSync(Effect.provide(Effect.map(Server, ({ url }) => url), context))
    )
  )
  return withToken(url, token)
}

/** An agent of Skein over the client of MCP. */
const client = `${process.execPath} ${fileURLToPath(new URL("support/mcpSuiteClient.ts", import.meta.url))}`

/** The scenarios that a revision requires of clients. */
const requiredOfClients = (revision: string): ReadonlyArray<string> => {
  const file = new URL(`../requirements/${revision}.yaml`, pathToFileURL(suite))
  const [, section = ""] = /^client:\n((?: {2}- .*\n)+)/m.exec(readFileSync(file, "utf8")) ?? []
  return section.split("\n").flatMap((line) => /^ {2}- (\S+)$/.exec(line)?.[1] ?? [])
}

/** Scenarios that the client may fail, and why. Take out what passes; add nothing. */
const expectedOfClient: Readonly<Record<string, string>> = {
  "auth/authorization-server-migration": "a person signs in again with `skein mcp login`, and here only once",
  "auth/basic-cimd": "a warning: Skein has no page that describes it to authorization servers, which it should have",
  "auth/pre-registration": "a client that was registered beforehand has an id in the config, and no secret",
  "auth/scope-step-up": "a person signs in again with `skein mcp login`, and here only once"
}

/** What a client is asked by each revision. */
const askedOfClient = ["2025-11-25", "2026-07-28"].flatMap((revision) =>
  requiredOfClients(revision).map((scenario): readonly [string, string] => [revision, scenario])
)

let served: Promise<string> | undefined

/** The built program, which needs no fixture for what the protocol asks of every server. */
const skeinServe = (): Promise<string> =>
  served ??= (async () => {
    const at = sandbox()
    open.push(at.remove)
    const server = await startServer(at)
    open.push(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    return withToken(server.url, server.token)
  })()

const revisions = ["2025-11-25", "2026-07-28"]

describe("conformance", () => {
  it.each(revisions)("of what serves, to %s", async (revision) => {
    const url = await startFixture()
    const { code, output } = await run([
      "server",
      "--url",
      url,
      "--requirements",
      revision,
      "--expected-failures",
      expectedFailures(`server-${revision}`)
    ])
    expect(code, output).toBe(0)
  }, 120_000)

  it.concurrent.each(askedOfClient)("of the client, to %s: %s", async (revision, scenario) => {
    const args = ["client", "--command", client, "--scenario", scenario, "--spec-version", revision]
    const { code, output } = await run(args)
    const isExpected = Object.hasOwn(expectedOfClient, scenario)
    expect(code === 0, isExpected ? `${scenario} passes: take it out of the list` : output).toBe(!isExpected)
  }, 120_000)

  it("is asked of the client in all that both revisions require", () => {
    expect(askedOfClient).toHaveLength(50)
  })

  it.each([
    ["2025-11-25", "server-initialize"],
    ["2025-11-25", "server-session-lifecycle"],
    ["2025-11-25", "ping"],
    ["2025-11-25", "tools-list"],
    ["2025-11-25", "dns-rebinding-protection"],
    ["2026-07-28", "tools-list"],
    ["2026-07-28", "http-header-validation"],
    ["2026-07-28", "sep-2164-resource-not-found"],
    ["2026-07-28", "dns-rebinding-protection"]
  ])("of skein serve itself, to %s: %s", async (revision, scenario) => {
    const url = await skeinServe()
    const { code, output } = await run(["server", "--url", url, "--scenario", scenario, "--spec-version", revision])
    expect(code, output).toBe(0)
  }, 60_000)
})
