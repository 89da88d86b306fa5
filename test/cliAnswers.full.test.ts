/**
 * The built program where the sandbox answers instead of a person: what runs without a question, and what still needs
 * one.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const works = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

/** A call of bash. */
interface Line {
  readonly command: string
  readonly needs?: ReadonlyArray<string>
}

/** A model that makes these calls, one after the other, and then repeats their results. */
const place = async (lines: ReadonlyArray<Line>, config: object = {}) => {
  const llm = await startLlm(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content))
    const line = lines[results.length]
    return line === undefined
      ? results.map((each) => each.trimEnd()).join("\n---\n")
      : { calls: [{ tool: "bash", args: line }] }
  })
  const where = sandbox({ llm: llm.url })
  atEnd(llm.close, where.remove)
  const directory = join(where.home, "config", "skein")
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "skein.json"), JSON.stringify(config))
  writeFileSync(join(where.project, "make.sh"), "echo made > made.txt && echo done\n")
  const run = async (...flags: ReadonlyArray<string>) => {
    const ended = await where.run(["run", "-m", "openai/m", ...flags, "go"])
    return { ...ended, results: ended.stdout.trimEnd().split("\n---\n") }
  }
  return { ...where, run, made: () => existsSync(join(where.project, "made.txt")) }
}

const make = { command: "sh make.sh" }
const refused = /needs a person's consent, and Skein cannot ask anyone here/

it.skipIf(!works)("in `ask` a command runs on a read-only tree, and its error says why", async () => {
  const { made, run } = await place([
    { command: "sh -c 'echo hello; wc -c < make.sh; echo x > /tmp/mine'" },
    { command: "cat /tmp/mine" },
    make
  ])
  const { code, results: [first, second, third] } = await run()
  expect({ code, first, second }).toEqual({ code: 0, first: "hello\n34", second: "x" })
  expect(third).toMatch(
    /Read-only file system\n\(exit code 2\)\n\[Sandbox: The project is read-only for this command\. If it has to change files, call again with needs: \["write"\]\.\]$/
  )
  expect(made()).toBe(false)
})

it.skipIf(!works)("in `ask` a command that declares that it writes needs permission for `bash_write`", async () => {
  const asked = await place([{ ...make, needs: ["write"] }])
  const { code, results } = await asked.run()
  expect({ code, results }).toEqual({
    code: 3,
    results: [expect.stringMatching(/^Permission denied: bash_write \(sh make\.sh\)/)]
  })
  const allowed = await place([{ ...make, needs: ["write"] }], {
    permission: { bash_write: { "sh make.sh": "allow" } }
  })
  expect(await allowed.run()).toMatchObject({ code: 0, results: ["done"] })
  expect(allowed.made()).toBe(true)
})

it.skipIf(!works)(
  "in `edits` and `auto` a command may change the tree, and allowed ones may in `ask` as well",
  async () => {
    for (const flags of [["--mode", "edits"], ["--auto"]]) {
      const { made, run } = await place([make])
      expect(await run(...flags)).toMatchObject({ code: 0, results: ["done"] })
      expect(made()).toBe(true)
    }
    for (const bash of [{ "sh make.sh": "allow" }, "allow"]) {
      const { made, run } = await place([make], { permission: { bash } })
      expect(await run()).toMatchObject({ code: 0, results: ["done"] })
      expect(made()).toBe(true)
    }
  }
)

it.skipIf(!works)("in `plan` nothing is changed, whatever rules allow and a call declares", async () => {
  const { made, run } = await place([make, { ...make, needs: ["write"] }], { permission: { bash: "allow" } })
  const { results: [first, second] } = await run("--mode", "plan")
  expect(first).toContain("[Sandbox: The project is read-only here, because edits are denied.]")
  expect(second).toContain("because plan mode forbids edits. Leave \"write\" out of needs.")
  expect(made()).toBe(false)
})

it.skipIf(!works)("a user's ask rule applies, and `sandbox_ask` makes every command ask", async () => {
  for (const config of [{ permission: { bash: { "sh *": "ask" } } }, { sandbox_ask: "always" }]) {
    const { made, run } = await place([make], config)
    expect(await run("--mode", "edits")).toMatchObject({ code: 3, results: [expect.stringMatching(refused)] })
    expect(made()).toBe(false)
  }
})

it.skipIf(!works)("`auto` grants the network and never credentials, not even with another permission", async () => {
  const lines = [
    { command: "grep -c : /proc/net/dev", needs: ["network"] },
    { command: "sh -c 'cat ~/.pgpass'", needs: ["credentials"] },
    { command: "sh -c 'cat ~/.pgpass; env'" }
  ]
  const { home, run } = await place(lines)
  writeFileSync(join(home, ".pgpass"), "secret")
  const { results: [network, credentials, without] } = await run("--auto")
  expect(Number(network)).toBe(
    readFileSync("/proc/net/dev", "utf8").split("\n").filter((line) => line.includes(":")).length
  )
  expect(credentials).toMatch(/^Permission denied: bash_credentials/)
  expect(without).toContain("No such file")
  expect(without).not.toContain("sk-test")
})

it.skipIf(!works)("files that need permission are hidden, and visible once allowed", async () => {
  const lines = [{ command: "grep -rh SECRET . || echo none" }, { command: "cat .env" }]
  const hidden = await place(lines)
  writeFileSync(join(hidden.project, ".env"), "SECRET=1\n")
  const { results: [first, second] } = await hidden.run()
  expect(first).not.toContain("SECRET=1")
  expect(second).toMatch(/^Permission denied: read \(\.env\)/)
  const shown = await place(lines, { permission: { read: { ".env": "allow" } } })
  writeFileSync(join(shown.project, ".env"), "SECRET=1\n")
  expect((await shown.run()).results).toEqual([expect.stringContaining("SECRET=1"), "SECRET=1"])
})

it.skipIf(!works)("a database in the tree is inaccessible, and no command adds an approval to it (--db)", async () => {
  const { project, run } = await place([
    { command: "sh -c 'for f in skein.db skein.db-wal; do echo x >> $f; rm $f; mv $f y; done; ls y; cat skein.db'" },
    { command: "sh -c 'echo forged > skein.db-journal'" }
  ])
  const { code, results: [first, second] } = await run("--mode", "edits", "--db", "./skein.db")
  expect(code).toBe(0)
  expect(first).toContain("skein.db: Permission denied")
  expect(first).toContain("Device or resource busy")
  expect(second).toContain("skein.db-journal is protected")
  expect(existsSync(join(project, "skein.db-journal"))).toBe(false)
  expect((await run("--mode", "edits", "--db", "./skein.db")).code).toBe(0)
})
