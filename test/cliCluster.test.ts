/** Servers that share a PostgreSQL database: any of them takes any request, and what one leaves continues at another. */
import { afterAll, afterEach, describe, expect, it, vi } from "vitest"
import { startPostgres } from "../scripts/crash/postgres.mjs"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, startLlm } from "./support/llm.ts"
import { type Sent, startServer } from "./support/server.ts"

vi.setConfig({ testTimeout: 120_000 })

const open: Array<() => unknown> = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

const place = (options: Parameters<typeof sandbox>[0] = {}): Sandbox => {
  const made = sandbox(options)
  open.push(made.remove)
  return made
}

describe("skein serve --cluster refuses", () => {
  const postgres = ["--db", "postgres://skein@127.0.0.1:1/skein"]

  it.each(
    [
      ["a file as its database", ["serve", "--cluster"], "needs a PostgreSQL database"],
      [
        "an address that others cannot reach",
        ["serve", "--cluster", "--hostname", "0.0.0.0", ...postgres],
        "token-file"
      ],
      ["a secret without a cluster", ["serve", "--cluster-secret-file", "secret"], "is for --cluster"],
      ["to describe a cluster in a file", ["cluster", "status"], "shares a PostgreSQL database"]
    ]
  )("%s", async (_, args, words) => {
    const { code, stderr } = await place().run(args)
    expect([code, stderr.includes(words)], stderr).toEqual([2, true])
  })

  it("other machines without a secret for its servers", async () => {
    const token = "0123456789abcdef0123456789abcdef"
    const at = place({ files: { token } })
    const args = ["serve", "--cluster", "--token-file", "token", ...postgres, "--hostname"]
    const open = await at.run([...args, "192.0.2.1"])
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("needs --cluster-secret-file")])
    const nowhere = await at.run([...args, "0.0.0.0"])
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("Name it with --hostname")])
  })
})

const postgres = await startPostgres().catch((error: unknown) => String(error))

if (typeof postgres === "string") {
  it.skip(`PostgreSQL cannot be started here: ${postgres}`, () => undefined)
} else {
  afterAll(postgres.stop)
  let databases = 0

  /** Three servers, and a session whose first answer hangs at the first of them. */
  const three = async () => {
    const database = `cluster_${++databases}`
    await postgres.create(database)
    const db = ["--db", postgres.url(database)]
    const llm: Llm = await startLlm(({ last }) =>
      last === "Go" && llm.requests.length === 1 ? { hangs: true } : "All is done."
    )
    open.push(llm.close)
    const servers = []
    for (let count = 0; count < 3; count++) {
      const at = place({ llm: llm.url })
      const server = await startServer(at, ["--cluster", ...db])
      open.push(async () => {
        server.child.kill("SIGKILL")
        await server.ended
      })
      servers.push({ ...server, at })
    }
    const [first, second, third] = servers
    if (first === undefined || second === undefined || third === undefined) throw new Error("There are not three")
    const model = { providerID: "openai", modelID: "m" }
    const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t", model })
    expect(await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })).toMatchObject({ status: 202 })
    await llm.asked(1)
    return { llm, first, second, third, id: id as string, db }
  }

  const isIdle = (session: string) => (event: Sent) => event.type === "session.idle" && event.data.sessionID === session

  /** All events of a tree, as a client of one server gets them that comes again whenever its connection breaks. */
  const eventsAt = async ({ follow }: Awaited<ReturnType<typeof startServer>>, id: string) => {
    const came: Array<Sent> = []
    let last = "0"
    while (!came.some(isIdle(id))) {
      for (const event of await follow(id, last, isIdle(id))) {
        if (event.id === undefined) continue
        came.push(event)
        last = event.id
      }
    }
    return came
  }

  const expectUnbroken = (events: ReadonlyArray<Sent>) =>
    expect(events.map((event) => event.data.seq)).toEqual(events.map((_, index) => index + 1))

  describe("servers of a cluster", () => {
    it("answer for each other: what is asked of one happens where the tree is", async () => {
      const { db, first, id, llm, second, third } = await three()
      const following = eventsAt(second, id)
      const waiting = second.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "And then?" })
      expect(await third.send(`/v1/sessions/${id}/interrupt`, {})).toMatchObject({ status: expect.any(Number) })
      await llm.wasCut
      await waiting
      expectUnbroken(await following)
      const { json: runners } = {
        json: JSON.parse((await first.at.run(["cluster", "status", "--format", "json", ...db])).stdout)
      }
      expect(runners).toHaveLength(3)
      expect(runners.map(({ pid, state }: { pid: number; state: string }) => [pid, state])).toEqual(
        [first, second, third].map(({ pid }) => [pid, "alive"])
      )
    })

    it("let nobody in who only claims to be one of them", async () => {
      const { first, id } = await three()
      for (const signature of [`${Date.now()}.${"0".repeat(64)}`, "", "1.2"]) {
        const { status } = await fetch(`${first.url}/v1/sessions/${id}`, { headers: { "skein-cluster": signature } })
        expect(status).toBe(401)
      }
    })

    it("take up what a killed one leaves, and events keep their order", async () => {
      const { first, id, llm, second, third } = await three()
      const following = [eventsAt(second, id), eventsAt(third, id)]
      first.child.kill("SIGKILL")
      await llm.asked(2)
      for (const events of await Promise.all(following)) expectUnbroken(events)
      const { json } = await third.send(`/v1/sessions/${id}/messages`)
      expect(JSON.stringify(json)).toContain("All is done.")
    })

    it("take over at once from one that leaves, which ends with 0", async () => {
      const { first, id, llm, second } = await three()
      const following = eventsAt(second, id)
      first.child.kill("SIGTERM")
      expect(await first.ended).toMatchObject({ code: 0 })
      await llm.asked(2)
      expectUnbroken(await following)
    })
  })
}
