/** Servers of a cluster with different models: a turn continues where the model is with which it began, and says if that is nowhere. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { type Llm, type LlmAnswer, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

const corp = ({ url }: Llm) => ({
  model: "corp/m",
  provider: { corp: { type: "openai-compatible", base_url: url, models: { m: {} } } },
  permission: { "*": "allow" }
})

await withPostgres((postgres) => {
  let databases = 0

  /** Servers of one database, and a session at the first of them, whose config alone has the model that answers. */
  const begun = async (answer: (count: number) => LlmAnswer | string, hanging: number) => {
    const database = `models_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(() => answer(llm.requests.length))
    atEnd(llm.close)
    const start = (settings: object) => startRunner(llm, postgres.url(database), settings)
    const first = await start(corp(llm))
    const second = await start({})
    const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t" })
    const { json: { messageID } } = await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await llm.asked(hanging)
    first.child.kill("SIGKILL")
    await first.ended
    return {
      llm,
      second,
      start: () => start(corp(llm)),
      id: id as string,
      messageID,
      url: postgres.url(database)
    }
  }

  const listed = async ({ send }: Awaited<ReturnType<typeof startRunner>>) => (await send("/v1/sessions")).json.items[0]

  it.each<[string, number, (count: number) => LlmAnswer | string]>([
    ["a turn", 1, (count) => count === 1 ? { hangs: true } : "All is done."],
    ["a task", 2, (count) =>
      count === 1
        ? { calls: [{ tool: "task", args: { subagent_type: "general", description: "Look", prompt: "Look" } }] }
        : count === 2
        ? { hangs: true }
        : "All is done."]
  ])("%s waits for a server with its model, and continues there", async (_, hanging, answer) => {
    const { id, llm, messageID, second, start, url } = await begun(answer, hanging)
    const stuck = await until(async () => {
      const { status } = await listed(second)
      return status.type === "stuck" ? status : undefined
    })
    expect(stuck.cause).toContain(`The model corp/m is not set up at ${second.url}`)
    expect(await listed(second)).toMatchObject({ unfinished: true })
    const { stderr } = await second.at.run(["cluster", "status", "--db", url])
    expect(stderr).toContain(`${id} cannot be continued: The model corp/m is not set up at ${second.url}`)
    // A prompt is not answered with another model either.
    const refused = await second.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "And?" })
    expect(refused).toMatchObject({ status: 502, json: { detail: expect.stringContaining("choose another one") } })
    const waiting = second.send(`/v1/sessions/${id}/turns/${messageID}`)
    const third = await start()
    expect(await waiting).toMatchObject({ status: 200, json: { text: "All is done.", info: { providerID: "corp" } } })
    expect(llm.requests.length).toBeGreaterThan(hanging)
    expect((await third.send("/v1/cluster")).json).toMatchObject({
      failing: [],
      takeovers: [{ rootID: id, to: third.url }]
    })
  })

  it("a turn continues with the model that a prompt names", async () => {
    const { id, llm, messageID, second } = await begun((count) => count === 1 ? { hangs: true } : "All is done.", 1)
    const model = { providerID: "openai", modelID: "m" }
    const { status } = await second.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "Go on", model })
    expect(status).toBe(200)
    const { json } = await second.send(`/v1/sessions/${id}/turns/${messageID}`)
    expect(json).toMatchObject({ info: { providerID: "openai" } })
    expect(llm.requests.length).toBeGreaterThan(1)
  })
})
