/** A server that joins gets trees of one whose agents wait, while they work. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

const task = (name: string) => ({
  tool: "task",
  args: { description: name, prompt: `Work as ${name}`, subagent_type: "explore" }
})

await withPostgres((postgres) => {
  it("a server that joins gets one of two trees, between two steps, and clients get their answers", async () => {
    await postgres.create("balance")
    let isOver = false
    let asked = 0
    // Agents make calls until the test ends their work. Each call is another one.
    const llm = await startLlm(async ({ last, messages, user: [first = ""] }) => {
      if (first.startsWith("Lead")) {
        return last === first ? { calls: ["one", "two"].map((each) => task(`${each} of ${first}`)) } : "All is done."
      }
      if (!first.startsWith("Work as")) return "A title"
      await new Promise((resolve) => setTimeout(resolve, 50))
      return isOver
        ? `Done after ${messages.length} messages.`
        : { calls: [{ tool: "glob", args: { pattern: `*.${++asked}` } }] }
    })
    atEnd(llm.close)
    const start = () =>
      startRunner(llm, postgres.url("balance"), {
        limits: { process_concurrency: 2, requests: 16, subagent_steps: 1_000 }
      })
    const first = await start()
    const model = { providerID: "openai", modelID: "m" }
    const lead = async (name: string) => {
      const { json } = await first.send("/v1/sessions", { directory: first.at.project, title: "t", model })
      return { id: json.id as string, answer: first.send(`/v1/sessions/${json.id}/prompt?wait=true`, { text: name }) }
    }
    const leads = [await lead("Lead a"), await lead("Lead b")]
    const runners = async () => (await first.send("/v1/cluster")).json.runners
    await until(async () => (await runners())[0]?.load.queued === 2)

    const second = await start()
    const own = async () =>
      (await runners()).find(({ url }: { readonly url: string }) => url === second.url) ?? { held: [], load: {} }
    const trees = async () => (await runners()).map((each: { readonly trees: number }) => each.trees)
    await until(async () => String(await trees()) === "1,1")
    // Nobody waits any more, so nothing else moves.
    await until(async () =>
      String((await runners()).map(({ load }: { readonly load: { readonly running: number } }) => load.running)) ===
        "2,2"
    )
    const moved = (await own()).held[0]?.id
    expect(leads.map(({ id }) => id)).toContain(moved)
    expect((await second.send("/v1/cluster")).json.takeovers).toMatchObject([
      { rootID: moved, why: "moved", from: first.url, to: second.url }
    ])
    expect((await own()).load).toMatchObject({ takeovers: 0, moves: 1 })

    isOver = true
    for (const { answer, id } of leads) {
      const { json, status } = await answer
      expect([status, json.text, json.sessionID], JSON.stringify(json).slice(0, 400)).toEqual([200, "All is done.", id])
      const messages = JSON.stringify((await first.send(`/v1/sessions/${id}/messages`)).json)
      expect(messages.match(/"All is done\."/g)).toHaveLength(1)
      expect(messages).not.toContain(`"status":"error"`)
    }
    expect((await second.send("/v1/cluster")).json.takeovers).toHaveLength(1)
    // No request was cut off, and none was sent twice: each of them asked with another last message.
    expect(llm.cut()).toBe(0)
    const sent = llm.requests.filter(({ user: [text = ""] }) => !text.startsWith("A ")).map(({ messages }) =>
      JSON.stringify(messages)
    )
    expect(new Set(sent).size).toBe(sent.length)
  })
})
