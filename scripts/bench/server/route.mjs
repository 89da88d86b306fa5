// @ts-check
// A trivial route of the server beside the same route of the bare framework, in turns.
import * as esbuild from "esbuild"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../../layout.mjs"
import { median } from "../median.mjs"
import { serve } from "./serve.mjs"

const bare = `
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
const Group = HttpApiGroup.make("public").add(
  HttpApiEndpoint.get("health", "/healthz").addSuccess(Schema.Struct({ status: Schema.Literal("ok") }))
)
const Api = HttpApi.make("bare").add(Group)
const routes = HttpApiBuilder.group(Api, "public", (handlers) =>
  handlers.handle("health", () => Effect.succeed({ status: "ok" as const })))
const say = Layer.effectDiscard(Effect.map(HttpServer.HttpServer, ({ address }) =>
  console.log((address as { readonly port: number }).port)))
HttpApiBuilder.serve().pipe(
  Layer.provide(Layer.provide(HttpApiBuilder.api(Api), routes)),
  Layer.merge(say),
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })),
  Layer.launch,
  Effect.runPromise
)
`

/** The bare framework as a program of its own, bundled as the server is. */
const startBare = async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-bench-bare-"))
  const file = join(directory, "bare.mjs")
  const { outputFiles } = await esbuild.build({
    stdin: { contents: bare, loader: "ts", resolveDir: root },
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    conditions: ["module"],
    minify: true,
    write: false,
    banner: { js: "import { createRequire } from \"node:module\"; const require = createRequire(import.meta.url);" }
  })
  writeFileSync(file, outputFiles[0]?.text ?? "")
  const child = spawn(process.execPath, ["--max-semi-space-size=8", file], { stdio: ["ignore", "pipe", "inherit"] })
  /** @type {Buffer} */
  const port = await new Promise((resolve) => child.stdout.once("data", resolve))
  return {
    port: Number(port.toString()),
    close: async () => {
      child.kill("SIGKILL")
      await new Promise((resolve) => child.once("close", resolve))
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/** Requests per second of 32 clients. @param {number} port @param {number} seconds @param {string} path @param {object} headers */
const rate = async (port, seconds, path, headers) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const end = performance.now() + seconds * 1_000
  let count = 0
  const one = () =>
    new Promise((resolve, reject) =>
      request({ host: "127.0.0.1", port, path, agent, headers: { ...headers } }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path} answers ${response.statusCode}`))
        response.resume().on("end", resolve)
      }).on("error", reject).end()
    )
  await Promise.all(Array.from({ length: 32 }, async () => {
    for (; performance.now() < end; count++) await one()
  }))
  agent.destroy()
  return count / seconds
}

/** @param {number} seconds of each measurement */
export const measureRoute = async (seconds) => {
  const server = await serve()
  const framework = await startBare()
  const headers = { authorization: `Bearer ${server.token}` }
  /** @type {{ bare: Array<number>, open: Array<number>, closed: Array<number> }} */
  const rates = { bare: [], open: [], closed: [] }
  for (let round = 0; round < 6; round++) {
    const bareRate = await rate(framework.port, seconds, "/healthz", {})
    const open = await rate(server.port, seconds, "/healthz", {})
    const closed = await rate(server.port, seconds, "/v1/server", headers)
    // The first round warms up.
    if (round === 0) continue
    rates.bare.push(bareRate)
    rates.open.push(open)
    rates.closed.push(closed)
  }
  await framework.close()
  await server.close()
  const of = median(rates.bare)
  const row = (/** @type {string} */ name, /** @type {number} */ value) => ({
    name,
    value: `${value.toFixed(0)}/s ${(value / of).toFixed(2)}`,
    target: `at least 0.80 of ${of.toFixed(0)}/s`,
    met: value / of >= 0.8
  })
  return [
    row("GET /healthz, beside the bare framework", median(rates.open)),
    row("GET /v1/server with the token", median(rates.closed))
  ]
}
