/** Servers of a cluster while trees move: answers to questions, prompts and streamed text arrive where they should. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { type Script, startLlm } from "./support/llm.ts"
import type { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

await withPostgres((postgres) => {
  let databases = 0

  const three = async (script: Script) => {
    const database = `replies_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(script)
    atEnd(llm.close)
    const start = () => startRunner(llm, postgres.url(database), { sandbox: "off" })
    const [first, second, third] = [await start(), await start(), await start()]
    const model = { providerID: "openai", modelID: "m" }
    const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t", model })
    const owner = async (): Promise<string | null> =>
      (await postgres.query(database, "SELECT owner FROM skein.session"))[0].owner
    return {
      llm,
      owner,
      first,
      second,
      third,
      id: id as string,
      made: () => readFileSync(join(first.at.project, "made"), "utf8")
    }
  }

  type Server = Awaited<ReturnType<typeof startServer>>

  /** The id of the first question that a server lists. */
  const asked = (server: Server): Promise<string> =>
    until(async () => {
      const { json: { items: [item] } } = await server.send("/v1/asks")
      return item !== undefined && (item.id ?? item.request.id)
    })

  describe("a question whose tree has just moved", () => {
    const command = "echo once >> made"
    const asking: Script = ({ messages }) =>
      messages.at(-1)?.role === "user" ? { calls: [{ tool: "bash", args: { command } }] } : "All is done."

    it.each(["SIGKILL", "SIGSTOP", "SIGTERM"] as const)(
      "is answered at any other server right after %s of its own, and the command runs once",
      async (signal) => {
        const { first, id, llm, made, second, third } = await three(asking)
        expect(await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })).toMatchObject({ status: 202 })
        const question = await asked(third)
        first.child.kill(signal)
        const answers = await Promise.all(
          [second, third].map((server) => server.send(`/v1/asks/${question}/reply`, { answer: "once" }))
        )
        // One of them answers. The other one was too late, or hears that the question was answered.
        expect(answers.map(({ status }) => status).toSorted()[0]).toBe(204)
        await llm.asked(2)
        expect(made()).toBe("once\n")
        expect(llm.requests[1]?.messages.at(-1)?.role).toBe("tool")
      }
    )

    it("that nobody has asked is answered with 404 at once", async () => {
      const { second } = await three(asking)
      expect(await second.send("/v1/asks/per_nothing/reply", { answer: "once" })).toMatchObject({ status: 404 })
    })
  })

  it("a stream ends at a server that had it before the tree came to another one, and continues live from there", async () => {
    let answer = () => {}
    const answers = new Promise<void>((resolve) => answer = resolve)
    const { id, owner, second, third } = await three(async () => {
      await answers
      return { text: "Hello", hangs: true }
    })
    while ((await owner()) !== null);
    const headers = { authorization: `Bearer ${second.token}` }
    const stream = await fetch(`${second.url}/v1/sessions/${id}/events?from=0`, { headers })
    expect(await third.send(`/v1/sessions/${id}/prompt`, { text: "Go" })).toMatchObject({ status: 202 })
    // The model does not answer yet, so only the server can end this.
    await stream.text().catch(() => "")
    const came = await second.follow(id, undefined, ({ type }) => {
      // The first event says that the client is connected: what is written from now on reaches it.
      answer()
      return type === "message.part.delta"
    })
    expect(came.at(-1)?.type).toBe("message.part.delta")
  })
})
