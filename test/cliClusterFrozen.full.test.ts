/** Clients whose server is frozen go on at another one, as if it had died, and wait for it if there is no other. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

const token = "0123456789abcdef0123456789abcdef"

/** A bound for what hangs: within this time a client says that its server is silent, in milliseconds. */
const most = 35_000

await withPostgres((postgres) => {
  let databases = 0

  /** Servers with one token, and a place for clients. */
  const world = async (count: number, script: Script) => {
    const database = `frozen_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(script)
    atEnd(llm.close)
    const serve = async () => {
      const at = sandbox({ llm: llm.url })
      atEnd(at.remove)
      const file = join(at.home, "token")
      writeFileSync(file, token, { mode: 0o600 })
      const server = await startServer(at, ["--cluster", "--token-file", file, "--db", postgres.url(database)])
      atEnd(async () => {
        server.child.kill("SIGKILL")
        await server.ended
      })
      return { ...server, freeze: () => server.child.kill("SIGSTOP"), thaw: () => server.child.kill("SIGCONT") }
    }
    const servers = []
    while (servers.length < count) servers.push(await serve())
    const [first, second] = servers
    if (first === undefined) throw new Error("There is no server")
    const client = sandbox({ llm: llm.url })
    atEnd(client.remove)
    const run = (prompt: string) =>
      client.start(["run", `--attach=${first.url}`, "-m", "openai/m", prompt], { env: { SKEIN_TOKEN: token } })
    return { llm, first, second, run }
  }

  it("a run continues at another server, and says so", async () => {
    let answer = () => {}
    const answered = new Promise<string>((resolve) => answer = () => resolve("All is done."))
    const { first, llm, run, second } = await world(2, () => answered)
    const running = run("Go")
    await llm.asked(1)
    first.freeze()
    const frozen = performance.now()
    await until(() => running.output().includes("Connected to the server again.") || undefined)
    expect(performance.now() - frozen).toBeLessThan(most)
    answer()
    const { code, stderr, stdout } = await running.ended
    expect([code, stdout], stderr).toEqual([0, "All is done.\n"])
    expect(stderr).toContain(`The connection to the server at ${first.url} is lost.`)
    expect(stderr).toContain(`It is ${second?.url} now.`)
  })

  it("a run whose only server is frozen says so, and continues when that thaws", async () => {
    let answer = () => {}
    const answered = new Promise<string>((resolve) => answer = () => resolve("All is done."))
    const { first, llm, run } = await world(1, () => answered)
    const running = run("Go")
    await llm.asked(1)
    first.freeze()
    const frozen = performance.now()
    await until(() => running.output().includes("is lost") || undefined)
    expect(performance.now() - frozen).toBeLessThan(most)
    first.thaw()
    answer()
    const { code, stderr, stdout } = await running.ended
    expect([code, stdout], stderr).toEqual([0, "All is done.\n"])
    expect(stderr).toContain("Connected to the server again.")
  })
})
