/** The watchdog of a server in a cluster: commands of agents end with its lease, however that ends. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startRunner } from "./support/cluster.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 60_000 })

const read = (file: string): string => {
  try {
    return readFileSync(file, "latin1")
  } catch {
    return ""
  }
}

const isAlive = (pid: number): boolean => /^State:\s+[^ZX]/m.test(read(`/proc/${pid}/status`))

/** The processes that a server has started, and their command lines. */
const childrenOf = (parent: number): ReadonlyArray<{ readonly pid: number; readonly line: string }> =>
  readdirSync("/proc").map(Number).filter((pid) =>
    pid > 0 && new RegExp(`^PPid:\\s+${parent}$`, "m").test(read(`/proc/${pid}/status`))
  ).map((pid) => ({ pid, line: read(`/proc/${pid}/cmdline`) }))

const watchdogsOf = (parent: number) =>
  childrenOf(parent).filter(({ line }) => line.includes("SKEIN_GROUP=")).map(({ pid }) => pid)

/** A command whose processes write their ids: the shell, one that left its group, and an orphan. */
const command = [
  "setsid sh -c 'echo $$ > pid2; exec sleep 60' &",
  "(setsid sh -c 'echo $$ > pid3; exec sleep 60' >/dev/null 2>&1 &)",
  "echo $$ > pid1; sleep 60; echo late >> late"
].join("\n")

await withPostgres((postgres) => {
  let databases = 0

  const cluster = async (count: number) => {
    const database = `watchdog_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(({ messages, user }) =>
      user.at(-1) === "begin" && messages.at(-1)?.role === "user"
        ? { calls: [{ tool: "bash", args: { command } }] }
        : "done"
    )
    atEnd(llm.close)
    const servers = []
    for (let at = 0; at < count; at++) {
      // In a sandbox the processes would have other ids, and end automatically.
      servers.push(await startRunner(llm, postgres.url(database), { sandbox: "off" }))
    }
    const leaseEnd = async () =>
      Number((await postgres.query(database, "SELECT lease_until FROM skein.session"))[0].lease_until)
    return { llm, servers, leaseEnd }
  }

  const begun = async (count = 1) => {
    const { leaseEnd, llm, servers } = await cluster(count)
    const [server] = servers
    if (server === undefined) throw new Error("There is no server")
    const place = sandbox()
    atEnd(place.remove)
    const directory = place.project
    const model = { providerID: "openai", modelID: "m" }
    const { json: { id } } = await server.send("/v1/sessions", { directory, title: "t", model, mode: "auto" })
    expect(watchdogsOf(server.pid)).toEqual([])
    expect(await server.send(`/v1/sessions/${id}/prompt`, { text: "begin" })).toMatchObject({ status: 202 })
    const pids = await Promise.all([1, 2, 3].map((number) =>
      until(() => {
        const text = read(join(directory, `pid${number}`))
        return text.endsWith("\n") && Number(text)
      })
    ))
    atEnd(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, "SIGKILL")))
    expect(pids.every(isAlive)).toBe(true)
    const [watchdog] = watchdogsOf(server.pid)
    return { llm, server, leaseEnd, directory, pids, watchdog }
  }

  describe("the watchdog", () => {
    it("ends the commands of a frozen server when its lease runs out, and stays for those of later", async () => {
      const { directory, pids, server, watchdog } = await begun()
      server.child.kill("SIGSTOP")
      await until(() => !pids.some(isAlive))
      expect(existsSync(join(directory, "late"))).toBe(false)
      expect(watchdog !== undefined && isAlive(watchdog)).toBe(true)
    })

    it("ends them although nobody takes their tree over, and the model reads why", async () => {
      const { llm, pids, server } = await begun()
      server.child.kill("SIGSTOP")
      await until(() => !pids.some(isAlive))
      server.child.kill("SIGCONT")
      await llm.asked(2)
      expect(llm.requests[1]?.last).toContain(
        "killed before it ended, because this server lost its lease on the session"
      )
    })

    it("ends them before another server reports them", async () => {
      const { llm, pids, server } = await begun(2)
      server.child.kill("SIGSTOP")
      await llm.asked(2)
      expect(llm.requests[1]?.last).toContain("outcome unknown")
      expect(pids.filter(isAlive)).toEqual([])
    })

    it("ends them at once if the server is killed, and then itself", async () => {
      const { pids, server, watchdog } = await begun()
      server.child.kill("SIGKILL")
      await until(() => !pids.some(isAlive) && watchdog !== undefined && !isAlive(watchdog))
    })

    it("leaves the commands of a server alone that renews its lease, and ends with it", async () => {
      const { leaseEnd, pids, server, watchdog } = await begun()
      const first = await leaseEnd()
      // Longer than a lease that nobody renews.
      while ((await leaseEnd()) < first + 5_000);
      expect(pids.every(isAlive)).toBe(true)
      server.child.kill("SIGTERM")
      expect(await server.ended).toMatchObject({ code: 0 })
      await until(() => watchdog !== undefined && !isAlive(watchdog))
      expect(pids.filter(isAlive)).toEqual([])
    })

    it("is started again if it is killed while a command runs", async () => {
      const { pids, server, watchdog = 0 } = await begun()
      process.kill(watchdog, "SIGKILL")
      await until(() => watchdogsOf(server.pid).some((pid) => pid !== watchdog))
      server.child.kill("SIGKILL")
      await until(() => !pids.some(isAlive))
    })
  })
})
