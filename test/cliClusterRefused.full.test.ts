/** A database that refuses a server which it accepted before is waited for, as one that is away. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

await withPostgres((postgres) => {
  it("a server waits until its password is right again, is not ready meanwhile, and loses no request", async () => {
    await postgres.create("refusing")
    const sql = (text: string) => postgres.query("refusing", text)
    await sql("CREATE ROLE rotating SUPERUSER LOGIN PASSWORD 'one'")
    const url = new URL(postgres.url("refusing"))
    url.username = "rotating"
    url.password = "one"
    const llm = await startLlm(() => "done")
    atEnd(llm.close)
    const server = await startRunner(llm, url.href)
    await sql("ALTER ROLE rotating PASSWORD 'two'")
    await sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rotating'")
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 503)
    const model = { providerID: "openai", modelID: "m" }
    const making = server.send("/v1/sessions", { directory: server.at.project, title: "t", model })
    await sql("ALTER ROLE rotating PASSWORD 'one'")
    expect(await making).toMatchObject({ status: 201 })
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200)
  })
})
