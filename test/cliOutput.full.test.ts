/** The built program and agents with an output schema. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const form = { type: "object", properties: { line: { type: "integer" } }, required: ["line"] }
const config = (output: unknown) => ({ "skein.json": JSON.stringify({ agent: { finder: { output } } }, undefined, 2) })

const world = async (script: (request: LlmRequest) => LlmAnswer | string, output: unknown = form) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url, files: config(output) })
  atEnd(llm.close, place.remove)
  return { llm, run: (...args: ReadonlyArray<string>) => place.run(["run", "-m", "openai/m", ...args]) }
}

const answer = (line: unknown): LlmAnswer => ({
  text: "I have it.",
  calls: [{ tool: "final_answer", args: { answer: { line } } }]
})

it("prints the JSON of the answer, and nothing else on standard output", async () => {
  const { llm, run } = await world(({ messages }) => answer(messages.at(-1)?.role === "tool" ? 3 : "three"))
  const { code, stdout } = await run("--agent", "finder", "Where?")
  expect({ code, stdout }).toEqual({ code: 0, stdout: "{\"line\":3}\n" })
  expect(llm.requests).toHaveLength(2)
  expect(llm.requests[1]?.last).toContain("final_answer.answer.line: ")
  const { stdout: lines } = await run("--agent", "finder", "--format", "json", "Where?")
  expect(JSON.parse(lines.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    type: "result",
    text: "{\"line\":3}",
    outcome: "completed"
  })
})

it("returns the JSON of a task to its caller", async () => {
  const { run } = await world(({ last, messages, tools }) => {
    if (tools.includes("final_answer")) return answer(3)
    if (messages.at(-1)?.role === "tool") return last
    return { calls: [{ tool: "task", args: { description: "d", prompt: "Where?", subagent_type: "finder" } }] }
  })
  const { stdout } = await run("Ask")
  expect(stdout).toContain("<task_result>\n{\"line\":3}\n</task_result>")
})

it("fails when the model never matches the schema", async () => {
  const { llm, run } = await world(() => answer("three"))
  const { code, stderr, stdout } = await run("--agent", "finder", "--format", "json", "Where?")
  expect(code, stderr).toBe(1)
  expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ error: { tag: "InvalidAnswer" } })
  expect(llm.requests).toHaveLength(4)
})

it("refuses a definition whose output is not a JSON Schema, with file and line", async () => {
  const wrong = await world(() => "never", { type: "objct" })
  const { code, stderr } = await wrong.run("--agent", "finder", "Where?")
  expect(code).toBe(2)
  expect(stderr).toMatch(/skein\.json:5:\d+.*agent\.finder\.output\.type must be .*did you mean "object"\?/)
  const lost = await world(() => "never", { $ref: "#/$defs/x" })
  expect((await lost.run("--agent", "finder", "Where?")).stderr).toMatch(
    /skein\.json:4.*does not refer to a schema in it/
  )
})
