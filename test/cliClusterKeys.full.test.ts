/** A request with a key is carried out once, also if several servers of a cluster get it at the same time. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

/** How often each request is sent to all servers at once. */
const rounds = 5

await withPostgres((postgres) => {
  it("sessions, prompts and forks with a key are made once, by whichever server is first", async () => {
    await postgres.create("keys")
    const llm = await startLlm(() => "done")
    atEnd(llm.close)
    const start = () => startRunner(llm, postgres.url("keys"))
    const servers = [await start(), await start(), await start()] as const
    const [first] = servers
    const model = { providerID: "openai", modelID: "m" }
    const toAll = (path: string, key: string, body: object) =>
      Promise.all(servers.map((server) => server.send(path, body, "POST", { "idempotency-key": key })))
    const only = async (path: string, key: string, body: object, name: string) => {
      const answers = await toAll(path, key, body)
      const names = new Set(answers.map(({ json }) => json[name]))
      expect([...names], JSON.stringify(answers)).toEqual([expect.any(String)])
      return answers[0]?.json[name] as string
    }
    for (let round = 0; round < rounds; round++) {
      const begin = { directory: first.at.project, title: "t", model }
      const id = await only("/v1/sessions", `begin-${round}`, begin, "id")
      await only(`/v1/sessions/${id}/prompt`, `prompt-${round}`, { text: `Go ${round}` }, "messageID")
      await until(async () => (await first.send(`/v1/sessions/${id}/rest`)).status === 200)
      expect(llm.requests.filter(({ last }) => last === `Go ${round}`)).toHaveLength(1)
      const { json: { items } } = await first.send(`/v1/sessions/${id}/messages`)
      expect(items.map(({ info }: { readonly info: { readonly role: string } }) => info.role)).toEqual([
        "user",
        "assistant"
      ])
      await only(`/v1/sessions/${id}/fork`, `fork-${round}`, {}, "id")
    }
    const { json: { items } } = await first.send("/v1/sessions?limit=100")
    expect(items).toHaveLength(2 * rounds)
  })
})
