/** Clients of `skein serve` can do with files what its user does with the command line. */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startServer } from "./support/server.ts"

it("config, trust, worktrees and pruning return over HTTP what the command line prints", async () => {
  const at = sandbox()
  atEnd(at.remove)
  execFileSync("git", ["init", "-q"], { cwd: at.project })
  mkdirSync(join(at.home, "config", "skein"), { recursive: true })
  writeFileSync(
    join(at.home, "config", "skein", "skein.json"),
    JSON.stringify({ provider: { mine: { type: "openai", headers: { "x-auth": "sk-hidden-0123456789" } } } })
  )
  writeFileSync(
    join(at.project, "skein.json"),
    JSON.stringify({ provider: { other: { base_url: "http://127.0.0.1:9/v1" } } })
  )
  const server = await startServer(at)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const directory = encodeURIComponent(at.project)
  const json = async (...args: ReadonlyArray<string>) =>
    JSON.parse((await at.run([...args, "--format", "json"])).stdout)

  const config = await server.send(`/v1/config?directory=${directory}`)
  expect(config.json).toEqual({ ...await json("config"), broken: [] })
  expect(JSON.stringify(config.json)).not.toContain("sk-hidden")
  expect((await server.send("/v1/config/schema")).json).toMatchObject({ title: "Skein config" })

  const listed = async () => (await server.send(`/v1/trust?directory=${directory}`)).json.items
  const [item] = await listed()
  expect(item).toMatchObject({ key: "provider.other.base_url", state: "untrusted" })
  const allowed = await server.send("/v1/trust/allow", { directory: at.project, ids: [item.id] })
  expect(allowed.json.items).toMatchObject([{ id: item.id }])
  expect(await listed()).toMatchObject([{ state: "trusted" }])
  expect(await json("trust")).toMatchObject([{ id: item.id, state: "trusted" }])
  expect((await server.send("/v1/trust/revoke", { ids: [item.id] })).status).toBe(200)
  expect((await server.send("/v1/trust/revoke", { ids: [item.id] })).status).toBe(422)
  expect(await listed()).toMatchObject([{ state: "untrusted" }])

  expect((await server.send("/v1/worktrees")).json).toEqual({ items: [] })
  expect((await server.send("/v1/worktrees/clean", { dryRun: true })).json).toEqual({ items: [] })
  expect((await server.send("/v1/prune", { olderThan: "48h", all: true })).json).toEqual({
    dryRun: false,
    sessions: [],
    events: 0,
    texts: { files: 0, bytes: 0 }
  })
})
