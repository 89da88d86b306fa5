/** Proves that a server tells a collector what a run does, and that its log has causes and no secrets. */
import { mkdirSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startCollector } from "./support/collector.ts"
import { startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"

it("a server sends spans and metrics of its sessions, and logs what goes wrong without secrets", async () => {
  // The key that the sandbox has in its environment.
  const secret = "sk-test-0123456789"
  const llm = await startLlm(() => "done")
  const collector = await startCollector()
  const at = sandbox({ llm: llm.url })
  atEnd(llm.close, collector.close, at.remove)
  const own = join(at.home, "config", "skein")
  mkdirSync(own, { recursive: true })
  const hooks = { SessionStart: [{ command: `echo cannot use ${secret} >&2; exit 1` }] }
  writeFileSync(join(own, "skein.json"), JSON.stringify({ hooks, telemetry: { endpoint: collector.url } }))
  const server = await startServer(at, ["--log-format", "json"])
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const { json: session } = await server.send("/v1/sessions", {
    directory: at.project,
    model: { providerID: "openai", modelID: "m" }
  })
  const turn = await server.send(`/v1/sessions/${session.id}/prompt?wait=true`, { text: "Go" })
  expect(turn.json).toMatchObject({ text: "done" })
  expect(await at.run(["serve", "--stop"])).toMatchObject({ code: 0 })
  const { stderr } = await server.ended

  expect(collector.resource()).toMatchObject({
    "host.name": hostname(),
    "service.instance.id": expect.stringMatching(/^[\da-f-]{36}$/)
  })
  const spans = collector.spans()
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(["Session.prompt", "Step"]))
  expect(spans.find(({ name }) => name === "Session.prompt")?.attributes).toMatchObject({
    "skein.outcome": "completed"
  })
  expect(collector.points().map(({ name }) => name)).toContain("gen_ai.client.token.usage")
  const lines = stderr.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ message: expect.stringContaining("cannot use") }))
  for (const text of [stderr, ...collector.sent.map((each) => each.text)]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(server.token)
  }
})
