import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { commands as entries } from "../../src/Commands.ts"
import { bash, fish, zsh } from "../../src/commands/completions.ts"
import { opened } from "../../src/internal/arguments.ts"

const commands = await Promise.all(entries.map(opened))

const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0

/** What bash would offer behind these words. */
const offered = (...words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const quoted = words.map((word) => `'${word}'`).join(" ")
  const { stderr, stdout } = spawnSync("bash", [
    "-c",
    `${bash(commands)}
COMP_WORDS=(skein ${quoted}); COMP_CWORD=${words.length}; _skein; printf '%s\\n' "\${COMPREPLY[@]}"`
  ], { encoding: "utf8" })
  expect(stderr).toBe("")
  return stdout.trimEnd().split("\n")
}

describe("completions", () => {
  it.skipIf(!has("bash"))("of bash offer commands, flags, and what flags take (needs bash)", () => {
    expect(offered("se")).toEqual(["sessions", "serve"])
    expect(offered("sessions", "re")).toEqual(["resume", "rename"])
    expect(offered("sessions", "resume", "ses_x", "--au")).toEqual(["--auto"])
    expect(offered("run", "--max")).toEqual(["--max-tasks", "--max-steps"])
    expect(offered("run", "--format", "q")).toEqual(["quiet"])
    expect(offered("run", "--format", "=", "j")).toEqual(["json"])
    expect(offered("agents", "--format", "")).toContain("default")
    expect(offered("completions", "z")).toEqual(["zsh"])
    expect(offered("help", "do")).toEqual(["doctor"])
    expect(offered("run", "--dir", "/us")).toEqual(["/usr"])
  })

  it.each([["zsh", zsh], ["fish", fish]] as const)("of %s name every command and flag", (shell, write) => {
    const script = write(commands)
    for (const { flags, name } of commands) {
      expect(script).toContain(name)
      for (const flag of Object.keys(flags)) expect(script).toContain(shell === "zsh" ? `--${flag}` : `-l ${flag}`)
    }
    if (has(shell)) {
      expect(spawnSync(shell, ["-n"], { input: script, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" })
    }
  })
})
