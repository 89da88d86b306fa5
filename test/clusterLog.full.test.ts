/** The default log of a server of a cluster tells an operator what happened, in one line each, and nothing for each request. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startCluster } from "./support/cluster.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

await withPostgres((postgres) => {
  it("the log says who starts, joins, is silent, is back, dies and leaves, and when the storage is away", async () => {
    const { first, second, third } = await startCluster(postgres)
    const says = (text: string) => until(() => second.output().includes(text))
    expect(second.output()).toMatch(
      new RegExp(
        `level=INFO .*message="Skein \\S+ listens on ${second.url} \\(process ${second.pid} on the host \\S+\\)`
      )
    )
    await until(() => third.output().includes("Other servers in it: "))
    await says(`The server ${third.url} has joined the cluster (process ${third.pid} on the host `)
    third.child.kill("SIGSTOP")
    atEnd(() => Promise.resolve(void third.child.kill("SIGCONT")))
    await says(`The server ${third.url} is silent: it was last seen `)
    third.child.kill("SIGCONT")
    await says(`The server ${third.url} is back.`)
    first.child.kill("SIGKILL")
    await says(`The server ${first.url} is dead: its process ${first.pid} on the host `)
    // Streams begin while the server leaves.
    let isOver = false
    const streams = (async () => {
      while (!isOver) {
        await Promise.all(Array.from({ length: 8 }, () => third.send("/v1/events?from=x").catch(() => {})))
      }
    })()
    third.child.kill("SIGTERM")
    expect(await third.ended).toMatchObject({ code: 0 })
    isOver = true
    await streams
    expect(third.output()).toContain(`${third.url} leaves the cluster. `)
    expect(third.output()).not.toContain("level=ERROR")
    await says(`The server ${third.url} has left the cluster.`)
    await postgres.halt()
    await says("The storage does not answer")
    await postgres.start()
    await says("The storage answers again, after ")
    for (let n = 0; n < 50; n++) await second.send("/v1/sessions")
    const lines = second.output().split("\n").filter((line) => line.includes("level="))
    expect(lines.length, lines.join("\n")).toBeLessThan(25)
    expect(second.output()).not.toMatch(/\\n +at |Shard lock|\/v1\/sessions/)
  })
})
