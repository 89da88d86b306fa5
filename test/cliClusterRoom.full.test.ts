/** A server of a cluster at its limit leaves trees in which nobody works to servers with room. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 90_000 })

/** A root that is told to fill a server has a subagent work, whose answer never ends. */
const fill = { tool: "task", args: { description: "fill", prompt: "Hang", subagent_type: "explore" } }

await withPostgres((postgres) => {
  let databases = 0

  /** Two servers, of which each lets one agent work below all roots together. */
  const two = async () => {
    const database = `room_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(({ last, user }) => {
      if (user[0] === "Fill" && last === "Fill") return { calls: [fill] }
      return last === "Hang" ? { hangs: true } : "All is done."
    })
    atEnd(llm.close)
    const start = () => startRunner(llm, postgres.url(database), { limits: { process_concurrency: 1, requests: 16 } })
    const [first, second] = [await start(), await start()]
    const create = async () => {
      const model = { providerID: "openai", modelID: "m" }
      const directory = first.at.project
      return (await first.send("/v1/sessions", { directory, title: "t", model })).json.id as string
    }
    const prompt = (id: string, text: string, key: string) =>
      first.send(`/v1/sessions/${id}/prompt`, { text }, "POST", { "idempotency-key": key })
    /** Which of the servers holds a tree. */
    const holder = async (id: string) => {
      const [row] = await postgres.query(database, "SELECT owner FROM skein.session WHERE id = $1", [id])
      return [first, second].find(({ url }) => row?.owner?.includes(encodeURIComponent(url)))?.url
    }
    const hanging = () => llm.requests.filter(({ last }) => last === "Hang").length
    /** Has agents hang below a new root, and returns where. */
    const filled = async () => {
      const id = await create()
      const before = hanging()
      await prompt(id, "Fill", id)
      await until(() => hanging() > before)
      return holder(id)
    }
    return { create, filled, first, hanging, holder, llm, prompt, second }
  }

  it("one with room gets the next prompt, and clients notice nothing", async () => {
    const { create, filled, first, llm, prompt, second } = await two()
    expect(await filled()).toBe(first.url)
    const id = await create()
    const before = llm.requests.length
    const following = first.follow(id, "0", ({ type }) => type === "session.idle")
    const sent = await prompt(id, "Hello", "hello")
    expect(sent.status).toBe(202)
    expect((await prompt(id, "Hello", "hello")).json.messageID).toBe(sent.json.messageID)
    const events = await following
    if (!events.some(({ type }) => type === "session.idle")) {
      const last = events.findLast((event) => event.id !== undefined)?.id
      events.push(...await first.follow(id, last, ({ type }) => type === "session.idle"))
    }
    const numbers = events.flatMap(({ data: { seq } }) => seq ?? [])
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
    expect(JSON.stringify((await first.send(`/v1/sessions/${id}/messages`)).json)).toContain("All is done.")
    expect(llm.requests.slice(before).map(({ last }) => last)).toContain("Hello")
    expect((await second.send("/v1/cluster")).json.takeovers).toEqual([])
    // The next one with an agent goes there, and fills it.
    expect(await filled()).toBe(second.url)
  })

  it("without room anywhere, a prompt is answered where it came, and its agents wait for their turn", async () => {
    const { create, filled, first, hanging, holder, prompt, second } = await two()
    expect([await filled(), await filled()]).toEqual([first.url, second.url])
    const id = await create()
    await prompt(id, "Fill", "third")
    const queued = async () => {
      const { runners } = (await first.send("/v1/cluster")).json
      return [first, second].map(({ url }) =>
        runners.find((each: { readonly url: string }) => each.url === url)?.load.queued
      )
    }
    expect(await until(async () => (await queued()).includes(1) && queued())).toEqual([1, 0])
    expect(await holder(id)).toBe(first.url)
    expect(hanging()).toBe(2)
  })
})
