/** Metrics of a server name it as `skein cluster status` does, and say which trees nobody continues. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startCollector } from "./support/collector.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

await withPostgres((postgres) => {
  it("a tree that cannot be continued is in the metrics of the server, under its URL", async () => {
    await postgres.create("metrics")
    const llm = await startLlm(() => "All is done.")
    const collector = await startCollector()
    atEnd(llm.close, collector.close)
    const server = await startRunner(llm, postgres.url("metrics"), { telemetry: { endpoint: collector.url } })
    const { json: { id } } = await server.send("/v1/sessions", { directory: server.at.project, title: "t" })
    await postgres.query(
      "metrics",
      `INSERT INTO skein.inbox (id, session_id, kind, data, version)
        VALUES ('msg_01m84zzzzz0000aaaaaaaa', '${id}', 'prompt', '{broken', 1)`
    )
    const stuck = () =>
      collector.sent.some(({ path }) => path === "/v1/metrics") &&
      collector.points().some(({ asDouble, attributes, name }) =>
        name === "skein.cluster.trees" && attributes["skein.state"] === "stuck" && asDouble === 1
      )
    await until(stuck)
    const { runners } = (await server.send("/v1/cluster")).json
    expect(runners).toMatchObject([{ url: server.url }])
    const resource = JSON.parse(collector.sent.findLast(({ path }) => path === "/v1/metrics")!.text).resourceMetrics[0]
    expect(resource.resource.attributes).toContainEqual({
      key: "service.instance.id",
      value: { stringValue: server.url }
    })
  })
})
