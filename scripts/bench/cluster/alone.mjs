// @ts-check
// What it costs to be a cluster of one: 100 subagents on PostgreSQL, in a server alone and in a cluster.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeServer } from "../../cluster/server.mjs"
import { startPostgres } from "../../crash/postgres.mjs"
import { median, startModel } from "../measure.mjs"
import { scenario } from "../scenarios.mjs"
import { makeWorkspace } from "../workspace.mjs"

/** @typedef {import("../rows.mjs").Row} Row */

/** The most that a cluster of one should take of a server alone. */
const most = 1.3

const spec = "S2:100"

/** @param {string} program @param {number} times @returns {Promise<ReadonlyArray<Row>>} */
export const measureAlone = async (program, times) => {
  const base = mkdtempSync(join(tmpdir(), "skein-bench-cluster-"))
  const { project } = makeWorkspace(base)
  mkdirSync(join(base, "config", "skein"), { recursive: true })
  writeFileSync(join(base, "config", "skein", "skein.json"), JSON.stringify({ permission: { "*": "allow" } }))
  const postgres = await startPostgres()
  const model = await startModel({ project, latency: 0 })
  /** @type {Array<import("../../cluster/server.mjs").Server>} */
  const servers = []
  try {
    for (const [number, isAlone] of [true, false].entries()) {
      const database = isAlone ? "alone" : "one"
      await postgres.create(database)
      const env = {
        PATH: process.env["PATH"] ?? "",
        HOME: base,
        XDG_CONFIG_HOME: join(base, "config"),
        SKEIN_DB: postgres.url(database),
        OPENAI_BASE_URL: `${model.address}/v1`,
        OPENAI_API_KEY: "x"
      }
      const server = await makeServer({ base, number, program, env, isAlone })
      servers.push(server)
      await server.start()
    }
    /** @param {import("../../cluster/server.mjs").Server} server */
    const run = async (server) => {
      const headers = { authorization: `Bearer ${server.token()}`, "content-type": "application/json" }
      /** @param {string} path @param {unknown} body @returns {Promise<any>} */
      const post = async (path, body) => {
        const response = await fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
        const answer = /** @type {any} */ (await response.json())
        if (response.status >= 300) throw new Error(`${path} was answered with ${response.status}: ${answer.detail}`)
        return answer
      }
      const session = { directory: project, title: "S2", model: { providerID: "openai", modelID: "m" } }
      const { id } = await post("/v1/sessions", session)
      const began = performance.now()
      await post(`/v1/sessions/${id}/prompt?wait=true`, { text: scenario(spec)?.prompt })
      return performance.now() - began
    }
    const walls = /** @type {ReadonlyArray<Array<number>>} */ ([[], []])
    for (let time = 0; time <= times; time++) {
      for (const at of time % 2 === 0 ? [0, 1] : [1, 0]) {
        const server = servers[at]
        // The first one compiles.
        const wall = server === undefined ? 0 : await run(server)
        if (time > 0) walls[at]?.push(wall)
      }
    }
    const [alone = 0, one = 0] = walls.map((all) => median(all) ?? 0)
    return [{
      name: `${spec} in a cluster of one over PostgreSQL alone`,
      value: `${(one / alone).toFixed(2)} x (${Math.round(one)} ms)`,
      target: `${most} x`,
      met: one <= most * alone
    }]
  } finally {
    for (const server of servers) await server.kill()
    model.stop()
    await postgres.stop()
    rmSync(base, { recursive: true, force: true })
  }
}
