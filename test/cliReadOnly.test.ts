/** The built program where edits are denied above: commands see a read-only tree, or are known to read. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const works = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

/** A plan whose subagent runs a script that a rule allows; the results reach the answer of the plan. */
const planned = async (more: object = {}) => {
  const llm = await startLlm(({ last, messages, user }) => {
    const turns = messages.filter(({ role }) => role === "tool").length
    if (turns > 0) return `got: ${last}`
    return user.includes("go")
      ? { calls: [{ tool: "task", args: { subagent_type: "general", description: "d", prompt: "build it" } }] }
      : { calls: [{ tool: "bash", args: { command: "./build.sh" } }] }
  })
  atEnd(llm.close)
  const where = sandbox({ llm: llm.url })
  atEnd(where.remove)
  const config = join(where.home, "config", "skein")
  mkdirSync(config, { recursive: true })
  writeFileSync(
    join(config, "skein.json"),
    JSON.stringify({ permission: { bash: { "./build.sh": "allow" } }, ...more })
  )
  const script = "echo x > own.txt; echo more >> kept.txt; echo y > /tmp/y && cat /tmp/y && touch .git/config2"
  writeFileSync(join(where.project, "build.sh"), `#!/bin/bash\n${script}\necho built\nexit 3\n`, { mode: 0o755 })
  writeFileSync(join(where.project, "kept.txt"), "kept\n")
  return { ...where, ...await where.run(["run", "--agent", "plan", "-m", "openai/m", "go"]) }
}

it.skipIf(!works)("a command below plan runs, and changes nothing of the tree (needs bubblewrap)", async () => {
  const { code, project, stdout } = await planned()
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /own\.txt: Read-only file system[^]*y\n[^]*built\n\(exit code 3\)\n\[Sandbox: The project is read-only here, because edits are denied\.\]/
    )
  })
  expect(existsSync(join(project, "own.txt"))).toBe(false)
  expect(existsSync(join(project, ".git", "config2"))).toBe(false)
  expect(readFileSync(join(project, "kept.txt"), "utf8")).toBe("kept\n")
})

it("without a sandbox a command below plan that is not known to read does not run", async () => {
  const { project, stdout } = await planned({ sandbox: "off" })
  expect(stdout).toContain(
    "plan mode forbids bash (./build.sh) here. Edits are denied here, and without a sandbox only"
  )
  expect(existsSync(join(project, "own.txt"))).toBe(false)
})
