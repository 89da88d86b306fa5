/** Servers of a cluster find work that nobody told them about: each test takes away what would have told them. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

await withPostgres((postgres) => {
  let databases = 0

  /** Two servers, and a session at the first of them. By default, its first answer hangs. */
  const two = async (hangs = true, flags: ReadonlyArray<string> = []) => {
    const database = `sweep_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(() => hangs && llm.requests.length === 1 ? { hangs } : "All is done.")
    atEnd(llm.close)
    const start = (given: ReadonlyArray<string>) => startRunner(llm, postgres.url(database), {}, given)
    const [first, second] = [await start([]), await start(flags)]
    const model = { providerID: "openai", modelID: "m" }
    const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t", model })
    const prompt = () => first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    const messages = async () => JSON.stringify((await second.send(`/v1/sessions/${id}/messages`)).json)
    /** Waits until the second server shows the end of the turn. */
    const done = async () => {
      while (!(await messages()).includes("All is done."));
    }
    return { database, id: id as string, llm, first, second, prompt, done }
  }

  it("an unread prompt of a server that died right after it took it", async () => {
    const { done, first, prompt } = await two(false)
    expect(await prompt()).toMatchObject({ status: 202 })
    first.child.kill("SIGKILL")
    await done()
  })

  it("a tree of a dead server, while the tables are broken by which the engine places trees", async () => {
    const { database, done, first, llm, prompt } = await two()
    await prompt()
    await llm.asked(1)
    const tables = await postgres.query(
      database,
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'skein' AND tablename IN ('cluster_locks', 'cluster_runners')"
    )
    expect(tables.length).toBeGreaterThan(0)
    for (const { name } of tables) await postgres.query(database, `DROP TABLE skein.${name}`)
    first.child.kill("SIGKILL")
    await done()
  })

  it("a tree of a server that died while PostgreSQL was restarted", async () => {
    const { done, first, llm, prompt } = await two()
    await prompt()
    await llm.asked(1)
    const restarted = postgres.restart()
    first.child.kill("SIGKILL")
    await restarted
    await done()
  })

  it("a tree of a server whose connections to the database were all cut while it was frozen", async () => {
    const { database, done, first, llm, prompt } = await two()
    await prompt()
    await llm.asked(1)
    first.child.kill("SIGSTOP")
    await postgres.query(
      "postgres",
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
      [database]
    )
    await done()
  })

  it("but none with --no-resume, until it is prompted", async () => {
    const { database, done, first, id, llm, prompt, second } = await two(true, ["--no-resume"])
    const { json: { messageID } } = await prompt()
    await llm.asked(1)
    first.child.kill("SIGKILL")
    await first.ended
    const seen = async () =>
      (await postgres.query(database, `SELECT seen::text FROM skein.cluster_member WHERE url = '${second.url}'`))[0]
        ?.["seen"]
    let before = await seen()
    // It is seen with each of its looks for trees that nobody holds.
    for (let looks = 0; looks < 12; looks++) {
      before = await until(async () => {
        const now = await seen()
        return now === before ? undefined : now
      })
    }
    const waiting = second.send(`/v1/sessions/${id}/turns/${messageID}`)
    for (const path of ["", "/tree", "/messages", "/rest"]) {
      await second.send(`/v1/sessions/${id}${path}`)
    }
    expect((await second.send("/v1/sessions")).json.items).toMatchObject([{ id, unfinished: true }])
    expect((await second.send("/v1/cluster")).json).toMatchObject({ failing: [], takeovers: [], runners: [{}, {}] })
    expect(llm.requests).toHaveLength(1)
    await second.send(`/v1/sessions/${id}/prompt`, { text: "Go on" })
    await done()
    expect(await waiting).toMatchObject({ status: 200 })
  })
})
