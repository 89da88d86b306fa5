/** Servers of a cluster send a provider as many requests as one server may. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 90_000 })

await withPostgres((postgres) => {
  let databases = 0

  /** Three servers with a limit on requests, and a provider whose answers end when the test says so. */
  const three = async (requests: number) => {
    const database = `limits_${++databases}`
    await postgres.create(database)
    /** The requests without an answer, by the first word of their prompt. */
    const held: Array<{ readonly name: string; readonly at: number; readonly answer: (answer: LlmAnswer) => void }> = []
    let most = 0
    let changed = () => {}
    const llm = await startLlm(({ user }: LlmRequest) =>
      new Promise<LlmAnswer>((answer) => {
        held.push({ name: user[0] ?? "", at: Date.now(), answer })
        most = Math.max(most, held.length)
        changed()
      })
    )
    atEnd(llm.close)
    const start = () => startRunner(llm, postgres.url(database), { limits: { requests }, retry: { base: 6_000 } })
    const servers = [await start(), await start(), await start()]
    const begin = async (at: number, count: number, name: string) => {
      const server = servers[at]
      for (let session = 0; session < count; session++) {
        const model = { providerID: "openai", modelID: "m" }
        const directory = server?.at.project
        const made = await server?.send("/v1/sessions", { directory, title: "t", model })
        await server?.send(`/v1/sessions/${made?.json.id}/prompt`, { text: name })
      }
    }
    /** Waits until so many requests are without an answer. */
    const reached = (count: number) =>
      new Promise<void>((resolve) => {
        changed = () => void (held.length >= count && resolve())
        changed()
      })
    const answer = (status?: LlmAnswer) => held.splice(0, 1)[0]?.answer(status ?? { text: "done" })
    return { database, begin, reached, answer, held, llm, most: () => most }
  }

  it("together, and use all of it wherever the work is", async () => {
    const { answer, begin, llm, most, reached } = await three(6)
    // At first only one of them has work.
    await begin(0, 8, "a")
    await reached(6)
    await begin(1, 8, "b")
    await begin(2, 8, "c")
    for (let done = 0; done < 18; done++) {
      answer()
      await reached(6)
    }
    for (let done = 0; done < 6; done++) answer()
    expect(llm.requests.length).toBe(24)
    expect(most()).toBe(6)
  })

  it("in turn, if there are fewer requests than servers", async () => {
    const { answer, begin, held, most, reached } = await three(1)
    for (const [at, name] of ["a", "b", "c"].entries()) await begin(at, 12, name)
    const served = new Set<string>()
    while (served.size < 3) {
      await reached(1)
      served.add(held[0]?.name ?? "")
      answer()
    }
    expect(most()).toBe(1)
  })

  it("and all of them pause when a provider asks one of them to", async () => {
    const { answer, begin, database, held, reached } = await three(3)
    for (const [at, name] of ["a", "b", "c"].entries()) await begin(at, 6, name)
    await reached(3)
    answer({ status: 429, message: "slow down" })
    const paused = async () => {
      const [row] = await postgres.query(
        database,
        `SELECT pause.until, now() AS now FROM skein.cluster_pause AS pause
          WHERE NOT EXISTS (SELECT FROM skein.cluster_share WHERE seen < pause.until - interval '2 seconds')`
      )
      return row
    }
    let pause = await paused()
    while (pause === undefined) pause = await paused()
    // By now all of them have read it, so none of them sends the next request.
    answer()
    answer()
    await reached(1)
    expect(held[0]?.at).toBeGreaterThan(pause.until.getTime() - 100)
  })

  it("also after PostgreSQL has ended the connections on which they were dividing", async () => {
    const { answer, begin, database, llm, most, reached } = await three(3)
    for (const [at, name] of ["a", "b", "c"].entries()) await begin(at, 3, name)
    await reached(3)
    // Each of them waits for its turn to divide, and has begun its transaction, when it is cut off.
    await postgres.query(
      database,
      `DO $$ DECLARE waiting integer[]; BEGIN
        PERFORM pg_advisory_xact_lock(5283041);
        LOOP
          SELECT coalesce(array_agg(pid), '{}') INTO waiting FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND objid = 5283041;
          EXIT WHEN cardinality(waiting) = 3;
          PERFORM pg_sleep(0.01);
        END LOOP;
        PERFORM pg_terminate_backend(pid) FROM unnest(waiting) AS pid;
      END $$`
    )
    for (let done = 0; done < 6; done++) {
      answer()
      await reached(3)
    }
    for (let done = 0; done < 3; done++) answer()
    expect(llm.requests.length).toBe(9)
    expect(most()).toBe(3)
  })
})
