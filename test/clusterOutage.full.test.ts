/** Servers and attached runs live through an outage of PostgreSQL that is longer than they wait: nothing is lost or failed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startRunner } from "./support/cluster.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 90_000 })

/** How long PostgreSQL is away (ms). */
const outage = 45_000

/** The prompts of attached runs, which are answered late enough for the outage to come first. */
const attached = ["Attached to a cluster", "Attached to one server"]

const workers = ["one", "two", "three"]

/** A root that waits for three subagents, each of which reads a file, runs a command, and reads again. */
const answer = async ({ messages, user }: LlmRequest): Promise<LlmAnswer | string> => {
  const done = messages.filter(({ role }) => role === "tool").length
  await sleep(400)
  if (attached.some((each) => user[0] === each)) {
    return done >= 8
      ? "the end of the run"
      : { calls: [{ tool: "read", args: { filePath: "a.txt", limit: done + 1 } }] }
  }
  const name = workers.find((each) => user[0] === each)
  if (name === undefined) {
    return done > 0
      ? "the end"
      : {
        calls: workers.map((each) => ({
          tool: "task",
          args: { description: each, prompt: each, subagent_type: "general" }
        }))
      }
  }
  if (done >= 8) return `${name} is done`
  return done % 2 === 0
    ? { calls: [{ tool: "read", args: { filePath: "a.txt", limit: done + 1 } }] }
    : { calls: [{ tool: "bash", args: { command: `echo ${name}${done} >> effects.log` } }] }
}

const startAlone = async (llm: { readonly url: string }, database: string) => {
  const at = sandbox({ llm: llm.url })
  atEnd(at.remove)
  const server = await startServer(at, ["--verbose", "--db", database])
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return { ...server, at }
}

await withPostgres((postgres) => {
  it("trees at two servers of a cluster, and at one without, continue after 45 seconds", async () => {
    await Promise.all(["shared", "alone"].map(postgres.create))
    const llm = await startLlm(answer)
    atEnd(llm.close)
    const servers = [
      await startRunner(llm, postgres.url("shared")),
      await startRunner(llm, postgres.url("shared")),
      await startAlone(llm, postgres.url("alone"))
    ]
    const trees = await Promise.all(servers.map(async (server, n) => {
      const { json: { id } } = await server.send("/v1/sessions", {
        directory: server.at.project,
        title: "t",
        mode: "auto",
        model: { providerID: "openai", modelID: "m" }
      })
      expect(await server.send(`/v1/sessions/${id}/prompt`, { text: "Go" })).toMatchObject({ status: 202 })
      return { server, id: id as string, database: n < 2 ? "shared" : "alone" }
    }))
    const { id: watched, server: first } = trees[0]!
    const beats = first.follow(watched, undefined, ({ data, type }) => type === "heartbeat" && "storage" in data)
    const runs = [servers[0]!, servers[2]!].map(({ at, url }, n) => at.run(["run", `--attach=${url}`, attached[n]!]))
    await llm.asked(8)
    // From here on their prompts are stored: a run whose prompt cannot be stored ends.
    await until(() => attached.every((each) => llm.requests.filter(({ user }) => user[0] === each).length >= 2))
    await postgres.halt()
    await sleep(outage)
    for (const { url } of servers) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      const ready = await fetch(`${url}/readyz`)
      expect([ready.status, await ready.json()]).toEqual([
        503,
        expect.objectContaining({
          type: "urn:skein:StorageUnavailable",
          detail: expect.stringContaining("not answered")
        })
      ])
    }
    expect((await beats).at(-1)?.data).toMatchObject({ storage: "away" })
    await postgres.start()
    await Promise.all(trees.map(async ({ database, id, server }) => {
      await until(async () =>
        JSON.stringify((await server.send(`/v1/sessions/${id}/messages`)).json).includes("the end")
      )
      await until(async () => (await server.send(`/v1/sessions/${id}/rest`)).status === 200)
      const { parts, runs, waiting } = await postgres.look(database, id)
      expect(runs.map(({ outcome, state }) => [state, outcome?.status])).toEqual(
        workers.map(() => ["settled", "completed"])
      )
      expect(waiting).toBe(0)
      const open = parts.filter(({ state, type }) => type === "tool" && !/^(completed|error)$/.test(state.status))
      expect(open).toEqual([])
      expect(JSON.stringify(parts)).not.toMatch(/its caller|could not be reached/)
      const effects = readFileSync(join(server.at.project, "effects.log"), "utf8").trim().split("\n")
      expect(new Set(effects).size).toBe(effects.length)
    }))
    for (const run of await Promise.all(runs)) {
      expect(run, run.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("the end of the run") })
      expect(run.stderr).toContain("The storage of the server does not answer.")
      expect(run.stderr).toContain("The storage of the server answers again.")
    }
    for (const { url } of servers) await until(async () => (await fetch(`${url}/readyz`)).status === 200)
    // The log says it, and does not repeat it for each request and tree.
    for (const server of servers) {
      const lines = server.output().split("\n").filter((line) => /WARN|ERROR/.test(line))
      expect(lines.length, lines.join("\n")).toBeLessThan(40)
    }
    for (const server of servers.slice(0, 2)) {
      expect(server.output()).toMatch(/The storage answers again, after \d+ s/)
      expect(server.output()).toMatch(/The storage is back\. Of (one tree|\d trees) whose work had stopped here: /)
    }
    expect(servers[2]?.output()).toContain(`${trees[2]?.id} continues here: the storage is back`)
  })
})
