/** Servers of one machine with a data directory each: a task continues in the worktree that a killed server has made. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

await withPostgres((postgres) => {
  it("a task continues in its worktree at another server, with what it has written there", async () => {
    await postgres.create("worktrees")
    const args = { description: "Write", prompt: "child", subagent_type: "general", isolation: "worktree" }
    const isChild = (text: string) => text.includes("in the git worktree")
    let hung = false
    const llm: Llm = await startLlm(({ messages, user }) => {
      const last = messages.at(-1)
      if (!user.some(isChild)) return last?.role === "tool" ? String(last.content) : { calls: [{ tool: "task", args }] }
      if (last?.role !== "tool") return { calls: [{ tool: "write", args: { filePath: "new.txt", content: "made\n" } }] }
      if (hung) return "I wrote it."
      hung = true
      return { hangs: true }
    })
    atEnd(llm.close)
    const at = sandbox({ llm: llm.url, files: { "old.txt": "old\n" } })
    atEnd(at.remove)
    for (const line of [["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"]]) {
      execFileSync("git", line, { cwd: at.project })
    }
    /** A server with its own data directory and the home of the others. */
    const serve = async (name: string) => {
      const home = join(at.home, name)
      const place: Sandbox = {
        ...at,
        home,
        start: (given, start) => at.start(given, { ...start, env: { XDG_DATA_HOME: join(home, "data") } })
      }
      const server = await startServer(place, ["--cluster", "--db", postgres.url("worktrees")])
      const kill = async () => {
        server.child.kill("SIGKILL")
        await server.ended
      }
      atEnd(kill)
      return { ...server, kill }
    }
    const first = await serve("one")
    const second = await serve("two")
    const model = { providerID: "openai", modelID: "m" }
    const session = { directory: at.project, title: "t", model, mode: "auto" }
    const { json: { id } } = await first.send("/v1/sessions", session)
    await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await until(() => hung || undefined)
    const [{ directory }] = (await first.send("/v1/worktrees")).json.items
    expect(directory).toContain(join(at.home, "one"))
    await first.kill()
    expect(await second.send(`/v1/sessions/${id}/rest`)).toMatchObject({ status: 200 })
    const tasks = (await second.send(`/v1/tasks?session=${id}`)).json.items
    expect(tasks).toMatchObject([{ state: "settled", outcome: { status: "completed", text: "I wrote it." } }])
    expect(existsSync(join(directory, "new.txt"))).toBe(true)
    // Its data directory lists it.
    const dryRun = ["tasks", "clean", "--dry-run", "--db", postgres.url("worktrees")]
    const { stdout } = await at.run(dryRun, { env: { XDG_DATA_HOME: join(at.home, "one", "data") } })
    expect(stdout).toContain(`kept\t${directory}\t0 commits, 1 uncommitted file`)
  })
})
