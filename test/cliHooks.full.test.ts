/** The built program with hooks: the lines that report them, and commands from the user's config. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

/** A parent that delegates once, and a child that reads a file; each repeats its results. */
const family = ({ last, messages, user: [asked = ""] }: LlmRequest): LlmAnswer | string => {
  if (messages.at(-1)?.role === "tool") return `got: ${last}`
  return asked.startsWith("child")
    ? { calls: [{ tool: "read", args: { filePath: "a.txt" } }] }
    : { calls: [{ tool: "task", args: { description: "Look", prompt: "child a", subagent_type: "explore" } }] }
}

/** A place where the user has these hooks and scripts. */
const world = async (options: {
  readonly hooks?: object
  readonly permission?: object
  readonly scripts?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}) => {
  const llm: Llm = await startLlm(family)
  const place: Sandbox = sandbox({ llm: llm.url, files: { "a.txt": "needle\n", ...options.files } })
  atEnd(llm.close, place.remove)
  const config = join(place.home, "config", "skein")
  mkdirSync(config, { recursive: true })
  if (options.hooks !== undefined) {
    writeFileSync(join(config, "skein.json"), JSON.stringify({ hooks: options.hooks, permission: options.permission }))
  }
  for (const [name, text] of Object.entries(options.scripts ?? {})) {
    writeFileSync(join(config, name), `#!/bin/sh\n${text}\n`, { mode: name.endsWith(".txt") ? 0o644 : 0o755 })
  }
  const run = (...args: ReadonlyArray<string>) => place.run(["run", "-m", "openai/m", ...args])
  return { llm, place, run }
}

it("--verbose reports every event in a line, nested like the calls", async () => {
  const { place, run } = await world({})
  const { code, stderr } = await run("--verbose", "go")
  expect(code).toBe(0)
  const lines = stderr.split("\n").filter((line) => line.includes("[HOOK]") || /^ *> /.test(line))
  expect(lines).toEqual([
    `[HOOK] SessionStart cwd=${place.project}`,
    `[HOOK] UserPromptSubmit cwd=${place.project}`,
    "> task description=Look subagent_type=explore",
    "[HOOK] PreToolUse task(...)",
    "  [HOOK] SubagentStart explore prompt_chars=7",
    "  > subagent:read path=a.txt limit=all",
    "  [HOOK] PreToolUse read(...)",
    expect.stringMatching(/^ {2}\[HOOK\] PostToolUse read output_chars=\d+$/),
    expect.stringMatching(/^ {2}\[HOOK\] SubagentStop explore output_chars=\d+$/),
    expect.stringMatching(/^\[HOOK\] PostToolUse task output_chars=\d+$/),
    expect.stringMatching(/^\[HOOK\] Stop output_chars=\d+$/),
    `[HOOK] SessionEnd cwd=${place.project}`
  ])
  expect((await run("go")).stderr).not.toContain("[HOOK]")
})

describe("hooks of the user's config", () => {
  it("see and change the calls of subagents, with a script next to the config", async () => {
    const { place, run } = await world({
      hooks: {
        PreToolUse: [{ matcher: "read", hooks: [{ type: "command", command: "./guard.sh" }] }],
        "tool.execute.after": [{ matcher: "read", command: "./redact.sh" }]
      },
      scripts: {
        "guard.sh": "cat > payload.json; echo '{\"input\":{\"filePath\":\"b.txt\"}}'",
        "redact.sh": "if grep -q needle; then echo '{\"output\":\"(redacted)\"}'; fi"
      },
      files: { "b.txt": "another needle\n" }
    })
    const { code, stdout } = await run("go")
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("(redacted)") })
    expect(stdout).not.toContain("needle")
    expect(JSON.parse(readFileSync(join(place.project, "payload.json"), "utf8"))).toEqual({
      event: "PreToolUse",
      sessionID: expect.stringMatching(/^ses_/),
      rootID: expect.stringMatching(/^ses_/),
      path: ["build", "explore"],
      cwd: place.project,
      tool: "read",
      input: { filePath: "a.txt" },
      callID: expect.any(String)
    })
  })

  it("block a call by exit code 2, which the model reads", async () => {
    const { run } = await world({
      hooks: { PreToolUse: [{ matcher: "task", command: "./no.sh" }] },
      scripts: { "no.sh": "echo 'do it yourself' >&2\nexit 2" }
    })
    const { code, stderr, stdout } = await run("go")
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^got: The call was blocked by a hook .*: do it yourself/)
    })
    expect(stderr).toContain("> task failed: The call was blocked by a hook")
  })

  it("answer a question with no as a rule does: the model reads why, and the exit code stays 0", async () => {
    const { run } = await world({
      hooks: { PermissionRequest: [{ command: "./no.sh" }] },
      permission: { task: "ask" },
      scripts: { "no.sh": "echo 'do it yourself' >&2\nexit 2" }
    })
    expect(await run("go")).toMatchObject({ code: 0, stdout: expect.stringContaining("do it yourself") })
  })

  it("that fail, hang, are not executable or print something else block the call (S46)", async () => {
    for (
      const [hook, why] of [
        [{ command: "sleep 300", timeout: 300 }, "it did not answer within 0.3 s"],
        [{ command: "exit 1" }, "it ended with exit code 1"],
        [{ command: "./plain.txt" }, "it ended with exit code 126"],
        [{ command: "echo sure" }, "its answer is not JSON"]
      ] as const
    ) {
      const { code, stdout } = await (await world({ hooks: { PreToolUse: [hook] }, scripts: { "plain.txt": "" } })).run(
        "go"
      )
      expect(code).toBe(0)
      expect(stdout).toMatch(/^got: The call was not made, because the PreToolUse hook .* failed: /)
      expect(stdout).toContain(why)
    }
  })

  it("that fail elsewhere are reported, and the answer is the same", async () => {
    const { run } = await world({
      hooks: { Stop: [{ command: "echo 'no bell' >&2; exit 1" }], SubagentStop: [{ command: "./none" }] }
    })
    const { code, stderr, stdout } = await run("go")
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("needle") })
    expect(stderr).toMatch(/The Stop hook \(.*\) failed: it ended with exit code 1: no bell/)
    expect(stderr).toMatch(/The SubagentStop hook \(.*\) failed: it ended with exit code 127/)
  })

  it("that block a prompt end the run as denied, before a model is asked", async () => {
    const { llm, run } = await world({
      hooks: { UserPromptSubmit: [{ command: "grep -q secret && echo 'a secret' >&2 && exit 2; exit 0" }] }
    })
    const { code, stderr, stdout } = await run("tell the secret")
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
    expect(stderr).toContain("skein: The prompt was blocked by a hook")
    expect(stderr).toContain("a secret")
    expect(llm.requests).toEqual([])
    expect((await run("go")).code).toBe(0)
  })

  it("end with the program when it is stopped", async () => {
    const { place } = await world({ hooks: { PreToolUse: [{ command: "echo $$ > pid; exec sleep 300" }] } })
    const { child, ended } = place.start(["run", "-m", "openai/m", "go"])
    const pid = join(place.project, "pid")
    await vi.waitUntil(() => existsSync(pid) && readFileSync(pid, "utf8").endsWith("\n"), { timeout: 20_000 })
    child.kill("SIGINT")
    expect((await ended).code).toBe(130)
    const status = `/proc/${readFileSync(pid, "utf8").trim()}/status`
    await vi.waitUntil(() => !existsSync(status) || /^State:\s+[ZX]/m.test(readFileSync(status, "utf8")))
  })
})

it("hooks of a project do not run, which is reported", async () => {
  const { place, run } = await world({
    files: {
      "skein.json": JSON.stringify({
        hooks: Object.fromEntries(
          ["SessionStart", "UserPromptSubmit", "PreToolUse", "tool.execute.after", "SubagentStart", "Stop"].map((
            event
          ) => [
            event,
            [{ command: "touch PWNED; exit 2" }]
          ])
        )
      })
    }
  })
  const { code, stderr, stdout } = await run("go")
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("needle") })
  expect(stderr).toContain("6 values wait for trust")
  expect(existsSync(join(place.project, "PWNED"))).toBe(false)
  expect((await place.run(["config", "--notes"])).stdout).toContain(
    "hooks.SessionStart is ignored: a project's file sets it only with your trust; if you want it, run `skein trust"
  )
})
