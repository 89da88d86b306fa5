/** A server whose connection for leases falls silent keeps its trees, because it takes another connection. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { startSilence } from "../scripts/crash/silence.mjs"
import { atEnd } from "./support/atEnd.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

await withPostgres((postgres) => {
  it("keeps its trees and its commands", async () => {
    await postgres.create("silence")
    const way = await startSilence(postgres.port)
    atEnd(way.close)
    const llm = await startLlm(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? "All is done."
        : { calls: [{ tool: "bash", args: { command: "until [ -e over ]; do sleep 0.1; done; echo was left alone" } }] }
    )
    atEnd(llm.close)
    const first = await startRunner(llm, postgres.url("silence", way.port))
    const second = await startRunner(llm, postgres.url("silence"))
    const { json: { id } } = await first.send("/v1/sessions", {
      directory: first.at.project,
      title: "t",
      mode: "auto",
      model: { providerID: "openai", modelID: "m" }
    })
    await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await until(async () =>
      JSON.stringify((await first.send(`/v1/sessions/${id}/messages`)).json).includes("\"running\"")
    )
    const connections = async (): Promise<ReadonlyArray<number>> =>
      (await postgres.query(
        "postgres",
        "SELECT pid FROM pg_stat_activity WHERE datname = 'silence' AND application_name = 'skein-leases'"
      )).map(({ pid }) => pid)
    const lease = async (): Promise<string> =>
      String((await postgres.query("silence", "SELECT lease_until AS until FROM skein.session"))[0].until)
    const before = new Set(await connections())
    way.begin({ direction: "both", only: "skein-leases", present: true })
    await until(async () => (await connections()).some((pid) => !before.has(pid)))
    const renewed = await lease()
    await until(async () => (await lease()) !== renewed)
    writeFileSync(join(first.at.project, "over"), "")
    expect((await second.send(`/v1/sessions/${id}/rest`)).json.turn.text).toBe("All is done.")
    expect(JSON.stringify((await second.send(`/v1/sessions/${id}/messages`)).json)).toContain("was left alone\\n")
    expect((await second.send("/v1/cluster")).json).toMatchObject({ takeovers: [] })
  })
})
