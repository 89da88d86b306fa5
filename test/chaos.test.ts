/** A parent and its subagents against an independent mock of the wire protocol, with all of its faults. */
import { LLMock } from "@copilotkit/aimock"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { type Sandbox, sandbox } from "./support/cli.ts"

const children = 8

/** Enough tries to survive faults in four of five requests, with short waits between them. */
const config = { retry: { attempts: 60, base: 1, max_delay: 5, max_retry_after: 5 } }

const mock = new LLMock({ port: 0, logLevel: "silent" })
let place: Sandbox

beforeAll(async () => {
  await mock.start()
  const files = Object.fromEntries(Array.from({ length: children }, (_, i) => [`f${i}.txt`, `SENTINEL-${i}\n`]))
  place = sandbox({ files, llm: `${mock.url}/v1` })
  place.configure(config)
})

afterAll(async () => {
  vi.restoreAllMocks()
  place.remove()
  await mock.stop()
})

const callOf = (name: string, args: unknown, id: string) => ({ id, name, arguments: JSON.stringify(args) })

it("gives every child's result to the parent through 500s, malformed answers, 429s and disconnects", {
  timeout: 60_000
}, async () => {
  const task = (i: number) =>
    callOf("task", { description: `child ${i}`, prompt: `CHILD ${i}`, subagent_type: "general" }, `call_${i}`)
  mock.on({ userMessage: "FANOUT", hasToolResult: false }, {
    toolCalls: Array.from({ length: children }, (_, i) => task(i))
  })
  mock.on({ userMessage: "FANOUT", hasToolResult: true }, { content: "PARENT DONE" })
  for (let i = 0; i < children; i++) {
    mock.on({ userMessage: `CHILD ${i}`, hasToolResult: false }, {
      toolCalls: [callOf("read", { filePath: `f${i}.txt` }, "call_0")]
    })
    mock.on({ userMessage: `CHILD ${i}`, hasToolResult: true }, { content: `CHILD ${i} DONE` })
  }
  // The mock rolls dice for each kind of fault in turn. With these values each kind hits one of five requests.
  const [hit, miss] = [0.1, 0.9]
  const dice = [hit, miss, hit, miss, miss, hit, miss, miss, miss, hit, miss, miss, miss, miss]
  let thrown = 0
  vi.spyOn(Math, "random").mockImplementation(() => dice[thrown++ % dice.length] ?? miss)
  mock.setChaos({ dropRate: 0.2, malformedRate: 0.2, rateLimitRate: 0.2, disconnectRate: 0.2 })

  const ended = await place.run(["run", "-m", "openai/gpt-4o", "--format", "json", "FANOUT"])

  const faults = new Set(
    mock.getRequests().map((entry) => entry.response.chaosAction).filter((action) => action !== undefined)
  )
  expect(faults.size, "the mock made every kind of fault").toBe(4)
  const lines = ended.stdout.trim().split("\n").map((line) => JSON.parse(line))
  const settled = lines.filter(({ type }) => type === "subagent.completed")
  expect(settled.map(({ properties }) => properties.outcome.text).toSorted()).toEqual(
    Array.from({ length: children }, (_, i) => `CHILD ${i} DONE`)
  )
  expect(lines.at(-1)).toMatchObject({ type: "result", text: "PARENT DONE", exitCode: 0 })
  expect(ended.code).toBe(0)
  const last = JSON.stringify(mock.getRequests().at(-1)?.body)
  for (let i = 0; i < children; i++) expect(last).toContain(`CHILD ${i} DONE`)
  expect(last.match(/CHILD \d DONE/g)).toHaveLength(children)
})
