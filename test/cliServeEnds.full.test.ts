/** A server ends when it is told to, also while its database is away. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

await withPostgres((postgres) => {
  /** A server whose database has gone away. */
  const startCutOff = async (args: ReadonlyArray<string>) => {
    const database = `ends_${args.length}_${process.hrtime.bigint()}`
    await postgres.create(database)
    const at = sandbox()
    atEnd(at.remove)
    const server = await startServer(at, [...args, "--db", postgres.url(database)])
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    await postgres.halt()
    atEnd(postgres.start)
    return server
  }

  it("one of a cluster ends by SIGTERM with 0", async () => {
    const server = await startCutOff(["--cluster"])
    server.child.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 0 })
  })

  it("one of a cluster ends at once by a second SIGTERM", async () => {
    const server = await startCutOff(["--cluster"])
    server.child.kill("SIGTERM")
    await until(() => fetch(`${server.url}/readyz`).then(({ status }) => status === 503, () => true))
    server.child.kill("SIGTERM")
    const { code } = await server.ended
    expect([0, 143]).toContain(code)
  })

  it("one that works alone ends by SIGTERM", async () => {
    const server = await startCutOff([])
    server.child.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 143 })
  })
})
