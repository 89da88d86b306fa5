/** The built program where only a key in the environment chooses the model. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = async () => {
  const llm = await startLlm(() => "Hello.")
  const place = sandbox()
  atEnd(llm.close, place.remove)
  return { llm, place }
}

it("one key chooses its provider and that provider's default model, which is reported", async () => {
  const { llm, place } = await world()
  const env = { DEEPSEEK_API_KEY: "sk-canary", DEEPSEEK_BASE_URL: llm.url }
  const ended = await place.run(["run", "go"], { env })
  expect(ended).toMatchObject({ code: 0, stdout: "Hello.\n" })
  expect(ended.stderr).toContain(
    "model: deepseek/deepseek-flash (DEEPSEEK_API_KEY is set; -m chooses another)\n"
  )
  expect(llm.requests[0]?.headers.authorization).toBe("Bearer sk-canary")
})

it("of several keys the first in order chooses, and the others are named", async () => {
  const { llm, place } = await world()
  const env = { GROQ_API_KEY: "g", GROQ_BASE_URL: llm.url, MISTRAL_API_KEY: "m", TOGETHER_API_KEY: "t" }
  const { stderr } = await place.run(["run", "go"], { env })
  expect(stderr).toContain(
    "model: groq/openai/gpt-oss-120b (GROQ_API_KEY is set, and also MISTRAL_API_KEY, TOGETHER_API_KEY; -m chooses"
  )
})

it("without a key the variables and the offline survey are named", async () => {
  const { place } = await world()
  const { code, stderr, stdout } = await place.run(["run", "go"])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^> No AI wrote this\./)
  expect(stdout, "the way to get a model is printed once, on standard error").not.toContain("OPENAI_API_KEY")
  expect(stderr).toMatch(
    /No model is configured, so offline\/survey answers, which is not an AI\./
  )
  expect(stderr).toMatch(/set one of OPENAI_API_KEY, ANTHROPIC_API_KEY, [^.]*ZAI_API_KEY, or choose another/)
})

it("nothing is reported for a model that is named", async () => {
  const { llm, place } = await world()
  const env = { OPENAI_API_KEY: "o", OPENAI_BASE_URL: llm.url }
  expect((await place.run(["run", "-m", "openai/m", "go"], { env })).stderr).not.toMatch(/answers|model:/)
})

it("it is reported in each run, and not before a usage error", async () => {
  const { llm, place } = await world()
  const env = { OPENAI_API_KEY: "o", OPENAI_BASE_URL: llm.url }
  expect((await place.run(["run", "go"], { env })).stderr).toContain("model: openai/")
  expect((await place.run(["run", "-c", "go"], { env })).stderr).toContain("model: openai/")
  const refused = await place.run(["run", "--command", "nosuch", "go"], { env })
  expect(refused.code).toBe(2)
  expect(refused.stderr).not.toContain("model:")
})
