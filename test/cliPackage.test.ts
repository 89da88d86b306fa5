/** The built program with a provider package of the AI SDK that stands beside the user's config. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

it("runs on a package that the user installed, and says how to install one that is not there", async () => {
  const llm = await startLlm(({ last }) => last.includes("hello") ? "Hi." : "?")
  const place = sandbox()
  atEnd(llm.close, place.remove)
  const config = join(place.home, "config", "skein")
  mkdirSync(join(config, "node_modules", "@ai-sdk"), { recursive: true })
  const name = "@ai-sdk/openai-compatible"
  symlinkSync(join(import.meta.dirname, "..", "node_modules", name), join(config, "node_modules", name))
  const mine = {
    package: name,
    key_env: "MINE_KEY",
    base_url: llm.url,
    options: { includeUsage: true },
    models: { m: { price: { input: "1", output: "2" } } }
  }
  const provider = { mine, absent: { package: "absent-ai-provider", models: { m: {} } } }
  writeFileSync(join(config, "skein.json"), JSON.stringify({ provider }))
  const env = { MINE_KEY: "k-123456" }
  const ended = await place.run(["run", "--title", "t", "--format", "json", "-m", "mine/m", "hello"], { env })
  expect(JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    text: "Hi.",
    usage: { tokens: { input: 100, output: 10 }, cost: "0.00012" }
  })
  expect(llm.requests[0]?.headers.authorization).toBe("Bearer k-123456")
  const refused = await place.run(["run", "-m", "absent/m", "hello"], { env })
  expect(refused.stderr).toContain(`npm install --prefix ${config} absent-ai-provider`)
  expect(refused.code).toBe(2)
  const { stdout: checked } = await place.run(["doctor"], { env: { ...env, AWS_BEARER_TOKEN_BEDROCK: "k-123456" } })
  expect(checked).toMatch(/ok +package +mine: @ai-sdk\/openai-compatible is installed/)
  expect(checked).toMatch(/missing +package +absent: absent-ai-provider is not installed/)
  expect(checked).toContain(`npm install --prefix ${config} @ai-sdk/amazon-bedrock@4`)
})
