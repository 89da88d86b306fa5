/** The built program and what it knows of models: a catalogue that you update, and servers on this machine. */
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const catalogue = JSON.stringify({
  xai: { models: { "grok-x": { limit: { context: 256_000, output: 64_000 }, cost: { input: 0.2, output: 0.5 } } } }
})

it("takes limits and prices from a file or a URL, and lists the models of a server on this machine", async () => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? "")
    response.end(request.url === "/v1/models" ? JSON.stringify({ data: [{ id: "qwen-x" }] }) : catalogue)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const place = sandbox()
  atEnd(() => new Promise((resolve) => server.close(resolve)), place.remove)
  const env = { OLLAMA_BASE_URL: `${url}/v1`, XAI_API_KEY: "k-123456" }
  const listed = async () => (await place.run(["models"], { env })).stdout
  const before = await listed()
  expect(before).not.toContain("grok-x")
  expect(before).toMatch(/ollama\/qwen-x\s+yes\s+unknown/)
  // Nothing but the local server was asked.
  expect(asked).toEqual(["/v1/models"])

  const file = join(place.home, "catalogue.json")
  writeFileSync(file, catalogue)
  for (const source of [file, `${url}/api.json`]) {
    const updated = await place.run(["models", "update", source], { env })
    expect(updated).toMatchObject({ code: 0, stdout: expect.stringContaining("Stored 1 models of 1 providers in ") })
    const kept = /in (.+)\. Remove/.exec(updated.stdout)?.[1] ?? ""
    expect(JSON.parse(readFileSync(kept, "utf8"))).toEqual(JSON.parse(catalogue))
    expect(await listed()).toMatch(/xai\/grok-x\s+yes\s+256\S*\s+\$0\.2 \/ \$0\.5/)
  }
  writeFileSync(file, "<html>")
  const refused = await place.run(["models", "update", file], { env })
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain("is no catalogue of models")
  expect((await place.run(["models", "update", join(place.home, "none")], { env })).stderr).toContain("cannot be read")
  // What was stored stays.
  expect(await listed()).toContain("grok-x")
})
