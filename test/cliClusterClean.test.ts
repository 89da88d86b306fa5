/** Servers delete what others that are gone have left in the tables, and nothing else. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

/** A row in each table, as old as this. */
const rowsOf = (name: string, age: string): ReadonlyArray<string> => [
  `INSERT INTO skein.cluster_member SELECT '${name}', 'http://127.0.0.1:1', seen, clock_timestamp() - interval '${age}',
    load, proof FROM skein.cluster_member LIMIT 1`,
  `INSERT INTO skein.cluster_share VALUES ('${name}', 'k', 0, 0, 0, 0, clock_timestamp() - interval '${age}')`,
  `INSERT INTO skein.cluster_pause VALUES ('${name}', clock_timestamp() - interval '${age}')`,
  `INSERT INTO skein.cluster_waiting VALUES ('${name}', 'h', '/w', clock_timestamp() - interval '${age}')`,
  `INSERT INTO skein.cluster_takeover VALUES ('${name}', NULL, 'u', clock_timestamp() - interval '${age}', 1)`,
  `INSERT INTO skein.cluster_left VALUES ('${name}', 'u', 'left', clock_timestamp() - interval '${age}')`,
  `INSERT INTO skein.cluster_failure VALUES ('${name}', 1, 'u', 'c', clock_timestamp() - interval '${age}')`,
  `INSERT INTO skein.cluster_runners (address, runner, last_heartbeat)
    VALUES ('${name}', '{}', LOCALTIMESTAMP - interval '${age}')`
]

const names = ["owner", "owner", "key", "root_id", "root_id", "root_id", "root_id", "address"].map((column, at) => {
  const table = ["member", "share", "pause", "waiting", "takeover", "left", "failure", "runners"][at]
  return `SELECT ${column} AS name FROM skein.cluster_${table}`
}).join(" UNION ALL ")

await withPostgres((postgres) => {
  it("after two days, and the proofs of directories without sessions", async () => {
    await postgres.create("clean")
    const query = (sql: string) => postgres.query("clean", sql)
    const llm = await startLlm(() => "All is done.")
    atEnd(llm.close)
    const first = await startRunner(llm, postgres.url("clean"))
    await first.send("/v1/sessions", { directory: first.at.project, title: "t" })
    for (const sql of [...rowsOf("old", "3 days"), ...rowsOf("new", "1 day")]) await query(sql)
    for (const directory of ["/gone", first.at.project]) {
      await query(`INSERT INTO skein.cluster_directory VALUES ('elsewhere', '${directory}', 'x')`)
    }
    await startRunner(llm, postgres.url("clean"))
    while ((await query("SELECT FROM skein.cluster_directory WHERE directory = '/gone'")).length > 0);
    const left = await query(`SELECT name FROM (${names}) AS each WHERE name IN ('old', 'new')`)
    expect(left.map(({ name }) => name)).toEqual(rowsOf("new", "").map(() => "new"))
    expect(await query("SELECT FROM skein.cluster_directory WHERE host = 'elsewhere'")).toHaveLength(1)
    // Both servers are still there.
    expect((await first.send("/v1/cluster")).json.runners).toHaveLength(2)
  })
})
