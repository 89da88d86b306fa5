/** The built program and an answer with far too long arguments: its next request stays small. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

for (
  const [name, pieces] of [["in one event", 1], ["in 400 events", 400]] as const
) {
  it(`sends back none of 20 MB of arguments that came ${name}`, async () => {
    let asked = 0
    const piece = "x".repeat(20_000_000 / pieces)
    const begin = {
      tool_calls: [{ index: 0, id: "call_0", function: { name: "todowrite", arguments: "{\"todos\":\"" } }]
    }
    const more = { tool_calls: [{ index: 0, function: { arguments: piece } }] }
    const end = { tool_calls: [{ index: 0, function: { arguments: "\"}" } }] }
    const deltas = [begin, ...Array.from({ length: pieces }, () => more), end]
    const llm = await startLlm(() => {
      asked++
      if (asked === 1) return { calls: [{ tool: "todowrite", args: { todos: [] } }] }
      return asked === 2 ? { deltas, finish: "tool_calls" } : "I go on."
    })
    const place = sandbox({ llm: llm.url })
    atEnd(llm.close, place.remove)
    const first = await place.run(["run", "-m", "openai/m", "Begin."])
    expect(first.code).toBe(1)
    expect(first.stderr).toContain("limits.answer")
    for (const prompt of ["And now?", "And then?"]) {
      const next = await place.run(["run", "-c", "-m", "openai/m", prompt])
      expect(next.code, next.stderr).toBe(0)
      expect(next.stdout).toContain("I go on.")
    }
    // The answer that was too long is not requested again, and nothing of it is sent.
    expect(llm.requests).toHaveLength(4)
    for (const { messages } of llm.requests) expect(JSON.stringify(messages).length).toBeLessThan(50_000)
  })
}
