/** The built program under a budget, with answers that break off and a server that is killed: the model counts every token. */
import { setTimeout as sleep } from "node:timers/promises"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"

vi.setConfig({ testTimeout: 180_000 })

/** A text of that many tokens. */
const words = (tokens: number): string => "word ".repeat(Math.ceil(tokens * 0.8))

/** A model that counts what it reads and writes, whatever becomes of its answers. */
const world = async (
  script: (request: LlmRequest, nth: number) => LlmAnswer & { readonly output: number },
  latency = 0
) => {
  let sent = 0
  let asked = 0
  const llm = await startLlm(async (request) => {
    const { output: most, ...answer } = script(request, asked++)
    const output = Math.min(most, request.maxTokens ?? most)
    sent += request.tokens + output
    const text = answer.calls === undefined ? { text: words(output) } : {}
    await sleep(latency)
    return { ...text, ...answer, tokens: { input: request.tokens, output } }
  })
  const place = sandbox({
    llm: llm.url,
    files: { "skein.json": JSON.stringify({ retry: { base: 1, max_delay: 1 } }) }
  })
  atEnd(llm.close, place.remove)
  return { llm, place, sent: () => sent }
}

const read = (nth: number) => [{ tool: "list", args: { path: ".", ignore: [`${nth}`] } }]

const run = (
  tokens: number
) => ["run", "-m", "openai/m", "--title", "t", "--format", "json", "--budget-tokens", `${tokens}`]

const resultOf = (stdout: string) => JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}")

it("answers that break off use their budget and no more", async () => {
  const budget = 40_000
  const { llm, place, sent } = await world((_, nth) =>
    nth % 5 === 4 ? { output: 200, calls: read(nth) } : { output: 2_000, breaks: true }
  )
  const { code, stdout } = await place.run([...run(budget), "go"])
  const { usage } = resultOf(stdout)
  expect(code).toBe(4)
  expect(sent()).toBeLessThanOrEqual(budget * 1.03)
  expect(usage.tokens.input + usage.tokens.output).toBeGreaterThanOrEqual(sent() * 0.97)
  expect(usage).toMatchObject({ steps: llm.requests.length, estimated: true })
})

it("a server that is killed in the middle of an answer asks three times, and then leaves the turn to you", async () => {
  const budget = 100_000
  const { llm, place, sent } = await world((_, nth) => nth < 3 ? { output: 2_000, hangs: true } : { output: 10 })
  let server = await startServer(place)
  const running = place.start([...run(budget), "go"])
  for (let killed = 1; killed <= 3; killed++) {
    await llm.asked(killed)
    process.kill(server.pid, "SIGKILL")
    await server.ended
    server = await startServer(place)
  }
  const ended = await running.ended
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("skein sessions resume") })
  const { json: { items: [{ id }] } } = await server.send("/v1/sessions")
  const shown = async () => (await server.send(`/v1/sessions/${id}`)).json
  for (let again = 0; again < 2; again++) {
    process.kill(server.pid, "SIGKILL")
    await server.ended
    server = await startServer(place)
    expect((await shown()).turn.ended).toBeUndefined()
  }
  expect(llm.requests).toHaveLength(3)
  const { budget: account, usage } = await shown()
  expect(usage.own).toMatchObject({ steps: 3, estimated: true })
  expect(account.spent.tokens).toBeGreaterThanOrEqual(sent())
  expect(account.spent.tokens).toBeLessThanOrEqual(budget)
  const resumed = await place.run(["sessions", "resume", id, "--format", "quiet"])
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("word") })
  expect(llm.requests).toHaveLength(4)
})

it("64 tasks stay within one budget, however often their server is killed", async () => {
  const budget = 250_000
  const tasks = Array.from({ length: 64 }, (_, i) => ({
    tool: "task",
    args: { description: `part ${i}`, prompt: `part ${i}`, subagent_type: "general" }
  }))
  const { llm, place, sent } = await world(({ messages, user }, nth) => {
    if (user.some((text) => text.startsWith("part "))) return { output: 300, calls: read(nth) }
    return messages.at(-1)?.role === "tool" ? { output: 10 } : { output: 4_000, calls: tasks }
  }, 300)
  let server = await startServer(place)
  const running = place.start([...run(budget), "--auto", "go"])
  for (const count of [6, 14, 24, 32]) {
    await Promise.race([llm.asked(count), running.ended])
    process.kill(server.pid, "SIGKILL")
    await server.ended
    server = await startServer(place)
  }
  const { stdout } = await running.ended
  const { usage } = resultOf(stdout)
  expect(sent()).toBeLessThanOrEqual(budget * 1.03)
  expect(usage.tokens.input + usage.tokens.output).toBeGreaterThanOrEqual(sent() * 0.97)
  expect(usage.estimated).toBe(true)
})
