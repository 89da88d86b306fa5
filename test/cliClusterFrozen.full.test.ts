/** Clients whose server is frozen go on at another one, as if it had died, and wait for it if there is no other. */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { hasPython, onTerminal, shown, type TypedKey } from "./support/terminal.ts"
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
    const file = (name: string) => join(client.project, name)
    const open = (keys: ReadonlyArray<TypedKey>) =>
      onTerminal([process.execPath, program, "-m", "openai/m", `--attach=${first.url}`], {
        cwd: client.project,
        env: client.env({ TERM: "xterm-256color", NO_COLOR: "1", SKEIN_TOKEN: token }),
        keys
      })
    /** Freezes the first server while a terminal runs a command of its own, which ends then. */
    const freezeDuring = async (name: string) => {
      await until(() => existsSync(file(name)) ? true : undefined)
      first.freeze()
      writeFileSync(file(`${name}.frozen`), "")
    }
    return { llm, first, second, run, open, freezeDuring }
  }

  const during = (name: string) => `!touch ${name}; until [ -e ${name}.frozen ]; do sleep 0.1; done\r`

  const once = (text: string, part: string) => expect(text.split(part), text).toHaveLength(2)

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

  describe.skipIf(!hasPython)("at a terminal (needs python3)", () => {
    const answers: Script = ({ user }) => `answer to ${user.at(-1)}`

    it("the first prompt of a session is shown, and sent to another server", async () => {
      const { freezeDuring, open, second } = await world(2, answers)
      const opened = open([
        { after: "› Write", send: during("one") },
        { after: "exit code 0", send: "hello\r" },
        { after: "being sent: hello", send: "" },
        { after: "has not answered yet", send: "" },
        { after: "Connected again", send: "" },
        { after: "answer to ", send: "/quit\r" }
      ])
      await freezeDuring("one")
      const { code, printed } = await opened
      const text = await shown(printed)
      expect(code, text).toBe(0)
      expect(text).toContain(`The server is ${second?.url} now.`)
      once(text, "› hello")
    })

    it("prompts of a session are shown, and sent once and in their order to another server", async () => {
      const { freezeDuring, open, second } = await world(2, answers)
      const opened = open([
        { after: "› Write", send: "zero\r" },
        { after: "answer to zero", send: during("one") },
        { after: "exit code 0", send: "hello\r" },
        { after: "being sent: hello", send: "again\r" },
        { after: "being sent: again", send: "" },
        { after: "Connected again", send: "" },
        { after: "answer to again", send: "/quit\r" }
      ])
      await freezeDuring("one")
      const { code, printed } = await opened
      const text = await shown(printed)
      expect(code, text).toBe(0)
      expect(text).toContain(`The server is ${second?.url} now.`)
      expect(text).not.toContain("is there again")
      for (const line of ["› hello", "› again"]) once(text, line)
      expect(text.indexOf("› hello")).toBeLessThan(text.indexOf("› again"))
      const { json: { items: [{ id }] } } = await second!.send("/v1/sessions")
      const { items } = (await second!.send(`/v1/sessions/${id}/messages`)).json
      const said = items.flatMap((
        { info, parts }: {
          readonly info: { readonly role: string }
          readonly parts: ReadonlyArray<{ readonly text?: string }>
        }
      ) =>
        info.role === "user"
          ? parts.flatMap(({ text: each }) => each === "hello" || each === "again" ? [each] : [])
          : []
      )
      expect(said).toEqual(["hello", "again"])
    })
  })
})
