/** What commands show of a cluster, and what they stop there, also without its database; and that each takeover is counted. */
import type { ClusterStatus } from "@skein/cluster/ClusterStatus"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startCluster, startRunner } from "./support/cluster.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

it("a server that is in no cluster says so when a client asks for its cluster", async () => {
  const at = sandbox()
  atEnd(at.remove)
  const server = await startServer(at)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const { code, stderr } = await at.run(["cluster", "status", `--attach=${server.url}`])
  expect([code, stderr]).toEqual([2, expect.stringContaining("in no cluster")])
  const file = await at.run(["cluster", "status"])
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining("--attach=URL")])
})

await withPostgres((postgres) => {
  it("any server tells who is there and who holds a tree, and stops that tree", async () => {
    const { db, first, id, second, third } = await startCluster(postgres)
    const runners = [first, second, third].map(({ url }) => url).toSorted((a, b) =>
      Number(new URL(a).port) - Number(new URL(b).port)
    )
    const asked = await third.at.run(["cluster", "status", "--format", "json", `--attach=${third.url}`])
    expect(JSON.parse(asked.stdout).runners.map(({ url }: { readonly url: string }) => url)).toEqual(runners)
    const table = await third.at.run(["cluster", "status", `--attach=${third.url}`])
    expect(table).toMatchObject({ code: 0, stdout: expect.stringContaining(first.url) })

    // By the database, and by servers.
    const { json: { id: idle } } = await third.send("/v1/sessions", { directory: third.at.project, title: "idle" })
    const rows = async (...way: ReadonlyArray<string>) =>
      (await second.at.run(["sessions", "list", "--all", ...way])).stdout.trim().split("\n")
        .map((line) => line.split("\t")).map((cells) => [cells[0], ...cells.slice(-2)])
    // A tree in which nothing happens is soon released.
    const idleRow = [idle, "idle", expect.anything()]
    expect(await rows(...db)).toEqual(expect.arrayContaining([[id, "busy", first.url], idleRow]))
    expect(await third.at.run(["sessions", "list", "--all", `--attach=${third.url}`])).toMatchObject({
      stdout: expect.stringContaining(`elsewhere\t${first.url}\n`)
    })
    expect(await first.at.run(["sessions", "list", "--all", `--attach=${first.url}`])).toMatchObject({
      stdout: expect.stringContaining(`busy\t${first.url}\n`)
    })

    const held = new RegExp(`^held by: ${first.url} \\(process ${first.pid} on the host \\S+\\)$`, "m")
    expect((await second.at.run(["sessions", "show", id, ...db])).stdout).toMatch(held)
    expect((await third.at.run(["sessions", "show", id, `--attach=${third.url}`])).stdout).toMatch(held)
    const shown = await second.at.run(["sessions", "show", id, "--format", "json", ...db])
    expect(JSON.parse(shown.stdout).holder).toMatchObject({ url: first.url, pid: first.pid })

    const stopped = await third.at.run(["sessions", "stop", id, `--attach=${third.url}`])
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining("Stopped, with everything below it") })
    const rested = await third.at.run(["sessions", "show", id, `--attach=${third.url}`])
    expect(rested).toMatchObject({ code: 0, stdout: expect.not.stringContaining("held by: ") })
  })

  it("a program that reaches no server stops a tree through the database", async () => {
    const { db, first, id, llm, third } = await startCluster(postgres)
    const at = sandbox()
    atEnd(at.remove)
    const { code, stderr, stdout } = await at.run(["sessions", "stop", id, "--attach=off", ...db])
    expect([code, stdout, stderr]).toEqual([0, `Stopped, with everything below it: ${id}  t\n`, ""])
    expect(llm.open()).toBe(0)
    expect((await first.send(`/v1/sessions/${id}`)).json.turn.ended.how).toBe("stopped")
    const rested = await third.at.run(["sessions", "show", id, `--attach=${third.url}`])
    expect(rested).toMatchObject({ code: 0, stdout: expect.not.stringContaining("held by: ") })
  })

  it("a server that is started again after it was killed is listed once, and alive", async () => {
    const { db, first, llm, second } = await startCluster(postgres)
    const port = new URL(first.url).port
    first.child.kill("SIGKILL")
    await first.ended
    const states = async () =>
      ((await second.send("/v1/cluster")).json as ClusterStatus).runners.flatMap(({ state, url }) =>
        url === first.url ? [state] : []
      )
    expect(await states()).toEqual(["dead"])
    const check = () => second.at.run(["cluster", "status", "--check", ...db])
    expect(await check()).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        new RegExp(`^${first.url} is dead: its process ${first.pid} on the host \\S+ has ended\\. .*\n$`)
      )
    })
    await startRunner(llm, db[1] ?? "", {}, ["--port", port])
    expect(await states()).toEqual(["alive"])
    expect(await check()).toMatchObject({ code: 0, stdout: "ok: 3 servers are alive\n" })
  })

  it.each(["SIGKILL", "SIGTERM"] as const)(
    "a tree that a client's request takes over after %s is counted, with where it was",
    async (signal) => {
      const { db, first, id, llm, second, third } = await startCluster(postgres)
      // The look for trees that nobody holds leaves this one alone.
      await postgres.query(
        new URL(db[1] ?? "").pathname.slice(1),
        "INSERT INTO skein.cluster_failure VALUES ($1, 1, '', '', clock_timestamp() + interval '1 hour')",
        [id]
      )
      first.child.kill(signal)
      await first.ended
      const rest = second.send(`/v1/sessions/${id}/rest`)
      await llm.asked(2)
      await rest
      const statusAt = async (): Promise<ClusterStatus> => (await third.send("/v1/cluster")).json
      const { runners, takeovers } = await until(async () => {
        const status = await statusAt()
        return status.runners.some(({ load }) => load.takeovers + load.moves > 0) ? status : undefined
      })
      const isKilled = signal === "SIGKILL"
      expect(takeovers).toMatchObject([{ rootID: id, from: first.url, why: isKilled ? "died" : "left" }])
      expect(runners.map(({ load }) => isKilled ? load.takeovers : load.moves).toSorted((a, b) => a - b)).toEqual(
        runners.map((_, at) => at === runners.length - 1 ? 1 : 0)
      )
      const taker = [second, third].find(({ url }) => url === takeovers[0]?.to)
      expect(taker?.output()).toMatch(
        isKilled
          ? new RegExp(
            `${id} continues here: it was at ${first.url}, which died or hangs. It was last seen [\\d.]+ s before`
          )
          : `${id} continues here: ${first.url} left it when it ended.`
      )
    }
  )
})
