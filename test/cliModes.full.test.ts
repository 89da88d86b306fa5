/** The built program in its modes: chosen by a flag, stored with the session, shown, and changed. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { barePath, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const fileAfter = (roles: ReadonlyArray<string>) => `file${roles.filter((role) => role === "tool").length + 1}`

/** A model that writes a file at each prompt; its request shows which agent works. */
const writing = async () => {
  const llm = await startLlm(({ last, messages }) =>
    messages.at(-1)?.role === "tool"
      ? `got: ${last}`
      : { calls: [{ tool: "write", args: { filePath: fileAfter(messages.map(({ role }) => role)), content: "x" } }] }
  )
  const where = sandbox({ llm: llm.url })
  atEnd(llm.close, where.remove)
  const run = (...words: ReadonlyArray<string>) => where.run(["run", "-m", "openai/m", ...words, "go"])
  /** Runs it where there is no bubblewrap. */
  const bare = { PATH: barePath(), SKEIN_SANDBOX: "" }
  const without = (words: ReadonlyArray<string>, env = {}) =>
    where.run(["run", "-m", "openai/m", ...words, "go"], { env: { ...bare, ...env } })
  return { ...where, llm, bare, prompt: run, without, has: (name: string) => existsSync(join(where.project, name)) }
}

it("a mode is chosen by a flag, stays with the session, is shown, and can be changed", async () => {
  const { has, prompt, run } = await writing()
  expect(await prompt("--mode", "edits")).toMatchObject({ code: 0, stderr: expect.stringMatching(/^mode: edits$/m) })
  expect(has("file1")).toBe(true)
  expect(await prompt("-c")).toMatchObject({ code: 0, stderr: expect.stringMatching(/^mode: edits$/m) })
  expect(has("file2")).toBe(true)
  const { stdout } = await run(["sessions", "--format", "json"])
  const [session] = JSON.parse(stdout)
  expect(session).toMatchObject({ mode: "edits", agent: "build" })
  expect((await run(["sessions", "show", session.id])).stdout).toMatch(/^mode: edits$/m)
  expect(await run(["sessions", "mode", session.id, "ask"])).toMatchObject({ code: 0 })
  const asked = await prompt("-c")
  expect(asked).toMatchObject({ code: 3, stderr: expect.not.stringContaining("mode:") })
  expect(has("file3")).toBe(false)
  expect((await run(["sessions", "show", session.id])).stdout).toMatch(/^mode: ask$/m)
  expect(await run(["sessions", "mode", session.id, "edit"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There is no mode \"edit\". Modes: plan, ask, edits, auto.")
  })
})

it("in the mode `plan` the agent of that name works, and the previous one works again afterwards", async () => {
  const { has, prompt, run } = await writing()
  await prompt("--mode", "plan")
  expect(has("file1")).toBe(false)
  const sessions = async () => JSON.parse((await run(["sessions", "--format", "json"])).stdout)[0]
  expect(await sessions()).toMatchObject({ mode: "plan", agent: "plan", agentBefore: "build" })
  expect(await prompt("-c", "--mode", "edits")).toMatchObject({ code: 0 })
  expect(has("file2")).toBe(true)
  expect(await sessions()).toMatchObject({ mode: "edits", agent: "build" })
})

it("`--auto` is the mode `auto`, and flags that contradict each other are refused", async () => {
  const { has, prompt, run } = await writing()
  expect(await prompt("--auto")).toMatchObject({ code: 0, stderr: expect.stringMatching(/^mode: auto$/m) })
  expect(has("file1")).toBe(true)
  expect(JSON.parse((await run(["sessions", "--format", "json"])).stdout)[0]).toMatchObject({ mode: "auto" })
  for (
    const [words, why] of [
      [["--auto", "--mode", "edits"], "--auto is --mode auto"],
      [["--mode", "plan", "--agent", "build"], "In --mode plan the agent plan works."],
      [["--mode", "edits", "--agent", "plan"], "The agent plan works in --mode plan."],
      [["--mode", "edit"], "--mode needs one of plan, ask, edits, auto"]
    ] as const
  ) {
    expect(await prompt(...words), words.join(" ")).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
  }
})

const waysOut =
  /needs the sandbox[^]*bubblewrap[^]*--sandbox off, SKEIN_SANDBOX=off, or "sandbox": "off" in your own config/

it("`auto` needs the sandbox: without one nothing begins, and the two ways out are named", async () => {
  const { bare, has, home, project, run, without } = await writing()
  writeFileSync(join(project, "skein.json"), JSON.stringify({ sandbox: "off" }))
  for (const words of [["--auto"], ["--mode", "auto"], ["--auto", "--sandbox", "auto"]]) {
    expect(await without(words), words.join(" ")).toMatchObject({ code: 2, stderr: expect.stringMatching(waysOut) })
  }
  expect(has("file1")).toBe(false)
  expect(JSON.parse((await run(["sessions", "--format", "json"])).stdout)).toEqual([])

  expect(await without([])).toMatchObject({ code: 3 })
  const [{ id }] = JSON.parse((await run(["sessions", "--format", "json"])).stdout)
  expect(await run(["sessions", "mode", id, "auto"], { env: bare }))
    .toMatchObject({ code: 2, stderr: expect.stringMatching(waysOut) })

  const off = /^sandbox: off \(.*\), so commands can do whatever you can/m
  expect(await without(["--auto", "--sandbox", "off"])).toMatchObject({ code: 0, stderr: expect.stringMatching(off) })
  expect(await without(["--auto"], { SKEIN_SANDBOX: "off" }))
    .toMatchObject({ code: 0, stderr: expect.stringMatching(off) })
  expect(await without(["--auto"], { SKEIN_SANDBOX: "none" }))
    .toMatchObject({ code: 2, stderr: expect.stringContaining("SKEIN_SANDBOX: There is no sandbox none.") })

  // The tree is stored in `auto`. Without that word, it continues in `ask`.
  expect(await without(["-c"])).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^mode: ask, instead of auto\. The mode auto asks nothing/m)
  })
  expect((await run(["sessions", "--format", "json"])).stdout).toContain("\"mode\": \"ask\"")

  mkdirSync(join(home, "config", "skein"), { recursive: true })
  writeFileSync(join(home, "config", "skein", "skein.json"), JSON.stringify({ sandbox: "off" }))
  expect(await without(["--auto"])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^sandbox: off \(.*skein\.json:1\), so/m)
  })
})

it("`auto` changes no instructions, but for the user's own `init`", async () => {
  const calls = ["AGENTS.md", "CLAUDE.md", "sub/AGENTS.md"].map((filePath) => ({
    tool: "write",
    args: { filePath, content: "mine" }
  }))
  const llm = await startLlm(({ messages }) => messages.at(-1)?.role === "tool" ? "Done." : { calls })
  const { project, remove, run } = sandbox({ llm: llm.url })
  atEnd(llm.close, remove)
  const has = (name: string) => existsSync(join(project, name))
  const auto = ["run", "-m", "openai/m", "--auto"]
  await run([...auto, "Write AGENTS.md."])
  expect([has("AGENTS.md"), has("CLAUDE.md"), has("sub/AGENTS.md")]).toEqual([false, false, false])
  await run([...auto, "--command", "init"])
  expect([has("AGENTS.md"), has("CLAUDE.md"), has("sub/AGENTS.md")]).toEqual([true, false, false])
  // What was asked for in one turn is not asked for in the next.
  rmSync(join(project, "AGENTS.md"))
  await run([...auto, "-c", "And again."])
  expect(has("AGENTS.md")).toBe(false)
})
