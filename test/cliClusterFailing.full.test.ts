/** A tree that no server can continue is left alone for longer and longer, and said to be such; odd rows break no list. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import type { Sent } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

interface Status {
  readonly runners: ReadonlyArray<{ readonly url: string; readonly silence: number }>
  readonly failing: ReadonlyArray<{ readonly rootID: string; readonly failures: number; readonly cause: string }>
}

const statusOf = ({ properties }: Sent["data"]) => properties?.["status"] as { readonly type: string } | undefined

/** Asks until the answer is a status of this type. */
const shownAs = (type: string, ask: () => Promise<{ readonly type: string }>) =>
  until(async () => {
    const status = await ask()
    return status.type === type && status
  })

/** Follows a session, as clients do whose streams break whenever a server takes its tree up, until it is said to be stuck. */
const firstStuck = ({ follow }: Awaited<ReturnType<typeof startRunner>>, id: string) =>
  until(async () => {
    const seen = await follow(id, undefined, ({ data }) => statusOf(data)?.type === "stuck")
    const last = seen.at(-1)
    return last !== undefined && statusOf(last.data)?.type === "stuck" && statusOf(last.data)
  })

await withPostgres((postgres) => {
  const start = async (name: string) => {
    await postgres.create(name)
    const llm = await startLlm(() => "All is done.")
    atEnd(llm.close)
    const first = await startRunner(llm, postgres.url(name))
    const second = await startRunner(llm, postgres.url(name))
    const status = async (): Promise<Status> => (await second.send("/v1/cluster")).json
    return { first, second, status, query: (sql: string) => postgres.query(name, sql), db: postgres.url(name) }
  }

  it.each([
    [
      "a prompt that cannot be read",
      (id: string) =>
        `INSERT INTO skein.inbox (id, session_id, kind, data, version)
          VALUES ('msg_01m84zzzzz0000aaaaaaaa', '${id}', 'prompt', '{broken', 1)`,
      "msg_01m84zzzzz0000aaaaaaaa cannot be read"
    ],
    [
      "a run of an unknown state",
      (id: string) =>
        `INSERT INTO skein.run (id, task_id, parent_id, root_id, state, data, version)
          VALUES ('run_01m84zzzzz0000aaaaaaaa', '${id}', '${id}', '${id}', 'weird', '{"state":"weird"}', 1)`,
      "run_01m84zzzzz0000aaaaaaaa cannot be read"
    ]
  ])("%s is tried after longer and longer pauses, by all servers together", async (what, insert, cause) => {
    const { db, first, query, second, status } = await start(what.includes("prompt") ? "inbox" : "run")
    const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t" })
    await query(insert(id))
    const told = firstStuck(second, id)
    const of = async () => (await status()).failing.find(({ rootID }) => rootID === id)
    while (((await of())?.failures ?? 0) < 4);
    expect((await of())?.cause).toContain(cause)
    // Both servers say it of the session, to those who follow it and to those who look, but not while one of them tries again.
    const stuck = { type: "stuck", cause: expect.stringContaining(cause) }
    expect(await told).toEqual(stuck)
    for (const each of [first, second]) {
      expect(await shownAs("stuck", async () => (await each.send("/v1/sessions")).json.items[0].status)).toEqual(stuck)
      expect(await shownAs("stuck", async () => (await each.send(`/v1/sessions/${id}/tree`)).json.sessions[0].status))
        .toEqual(stuck)
    }
    // By the clock of the database. Two servers may both find the first failure.
    const gaps = await query(`SELECT extract(epoch FROM at - lag(at) OVER (ORDER BY at))::float AS gap
      FROM skein.cluster_takeover WHERE root_id = '${id}' ORDER BY at OFFSET 1`)
    expect(gaps.length).toBeGreaterThan(2)
    for (const { gap } of gaps.slice(1)) expect(Number(gap)).toBeGreaterThanOrEqual(1)
    const shown = await first.at.run(["cluster", "status", "--db", db])
    expect(shown.stderr).toContain(`${id} cannot be continued: ${cause}`)
    const checked = await first.at.run(["cluster", "status", "--check", "--db", db])
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringMatching(`^${id} cannot be continued: .*\n$`) })
    expect((await first.send(`/v1/sessions/${id}/interrupt`, {})).status).toBe(204)
    while (await of() !== undefined);
    for (const each of [first, second]) {
      await shownAs("idle", async () => (await each.send("/v1/sessions")).json.items[0].status)
    }
    expect((await first.send("/v1/sessions")).json.items).toMatchObject([{ id, unfinished: false }])
    expect((await first.send(`/v1/sessions/${id}`, undefined, "DELETE")).status).toBe(204)
  })

  it("a server that was seen in the future, or has no address, is listed with the others", async () => {
    const { query, status } = await start("future")
    await query(
      `INSERT INTO skein.cluster_member SELECT 'odd', 'odd', seen, clock_timestamp() + interval '10 minutes', load, proof
      FROM skein.cluster_member LIMIT 1`
    )
    const { runners } = await status()
    expect(runners).toHaveLength(3)
    expect(runners.find(({ url }) => url === "odd")?.silence).toBe(0)
  })
})
