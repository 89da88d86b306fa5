/** The built program with hooks for Claude Code, as projects have them: each runs once it is trusted. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 120_000 })

const hasPython = spawnSync("python3", ["-c", ""]).status === 0
if (!hasPython) {
  console.warn(
    "Some of cliClaudeHooks.full.test.ts are skipped: python3, in which their hooks are written, is not there."
  )
}

interface Call {
  readonly tool: string
  readonly args: unknown
}

interface Project {
  /** Hooks by event: commands, or groups with a matcher. */
  readonly hooks: Readonly<
    Record<string, ReadonlyArray<string | { readonly matcher: string; readonly command: string }>>
  >
  readonly scripts?: Readonly<Record<string, string>>
  /** The first call of the model; then it repeats the result. */
  readonly calls?: ReadonlyArray<Call>
  /** The answer of a subagent. */
  readonly child?: string
  readonly permission?: object
}

const said = ({ last, messages, user: [asked = ""] }: LlmRequest, { calls = [], child }: Project): LlmAnswer | string =>
  asked.startsWith("child")
    ? `${child}: ${last}`
    : messages.at(-1)?.role === "tool" || calls.length === 0
    ? `got: ${last}`
    : { calls }

/** A project with these hooks in its settings, and scripts below `.claude/hooks`. */
const world = async (project: Project) => {
  const llm = await startLlm((request) => said(request, project))
  const settings = {
    hooks: Object.fromEntries(
      Object.entries(project.hooks).map(([event, groups]) => [
        event,
        groups.map((group) => {
          const { command, ...matcher } = typeof group === "string" ? { command: group } : group
          return { ...matcher, hooks: [{ type: "command", command }] }
        })
      ])
    )
  }
  const place: Sandbox = sandbox({
    llm: llm.url,
    files: { "a.txt": "needle\n", ".claude/settings.json": JSON.stringify(settings, undefined, 2) }
  })
  atEnd(llm.close, place.remove)
  const config = join(place.home, "config", "skein")
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, "skein.json"), JSON.stringify({ permission: project.permission ?? { "*": "allow" } }))
  mkdirSync(join(place.project, ".claude/hooks"))
  for (const [name, text] of Object.entries(project.scripts ?? {})) {
    writeFileSync(join(place.project, ".claude/hooks", name), text, { mode: 0o755 })
  }
  const read = (name: string) =>
    existsSync(join(place.project, name)) ? readFileSync(join(place.project, name), "utf8") : undefined
  const trust = async () => {
    const items = JSON.parse((await place.run(["trust", "--format", "json"])).stdout) as ReadonlyArray<{ id: string }>
    expect((await place.run(["trust", "allow", ...items.map(({ id }) => id)])).code).toBe(0)
  }
  return { llm, place, read, trust, run: (prompt = "go") => place.run(["run", "-m", "openai/m", prompt]) }
}

/** The result of a run once the project is trusted. */
const trusted = async (project: Project, prompt?: string) => {
  const made = await world(project)
  await made.trust()
  return { ...made, ended: await made.run(prompt) }
}

const write = (filePath: string, content: string): Call => ({ tool: "write", args: { filePath, content } })

const bash = (command: string): Call => ({ tool: "bash", args: { command, description: "Run it" } })

const hook = (name: string) => `"$CLAUDE_PROJECT_DIR"/.claude/hooks/${name}`

describe("hooks around calls", () => {
  it.runIf(hasPython)("a formatter after edits changes the file that was written (needs python3)", async () => {
    const { ended, read } = await trusted({
      hooks: { PostToolUse: [{ matcher: "Edit|MultiEdit|Write", command: `python3 ${hook("format.py")}` }] },
      scripts: {
        "format.py": [
          "import json, pathlib, sys",
          "data = json.load(sys.stdin)",
          "path = data.get('tool_input', {}).get('file_path', '')",
          "if not path.endswith('.ts'): sys.exit(0)",
          "file = pathlib.Path(path)",
          "file.write_text(file.read_text().replace(';', ''))"
        ].join("\n")
      },
      calls: [write("b.ts", "let a;\n"), write("b.md", "so; so\n")]
    })
    expect(ended.code).toBe(0)
    expect([read("b.ts"), read("b.md")]).toEqual(["let a\n", "so; so\n"])
  })

  it("a linter that ends with 2 reports the fault to the model, and the file stays", async () => {
    const { ended, read } = await trusted({
      hooks: { PostToolUse: [{ matcher: "Write", command: "echo 'b.ts:1 unused variable' >&2; exit 2" }] },
      calls: [write("b.ts", "let a\n")]
    })
    expect(ended.stdout).toMatch(/got: .*b\.ts[\s\S]*b\.ts:1 unused variable/)
    expect(read("b.ts")).toBe("let a\n")
  })

  it("a guard before Bash blocks dangerous commands, and tells the model why", async () => {
    const { ended, read } = await trusted({
      hooks: { PreToolUse: [{ matcher: "Bash", command: hook("guard.sh") }] },
      scripts: {
        "guard.sh":
          "#!/bin/bash\nset -euo pipefail\ninput=$(cat)\nif grep -qE 'rm -rf|--force' <<<\"$input\"; then\n  echo 'Blocked: destructive' >&2\n  exit 2\nfi\n"
      },
      calls: [bash("rm -rf a.txt")]
    })
    expect(ended.stdout).toMatch(/got: The call was blocked by a hook .*: Blocked: destructive/)
    expect(read("a.txt")).toBe("needle\n")
  })

  it.runIf(hasPython)(
    "a guard of files denies as JSON, and lets others pass with a note for the model (needs python3)",
    async () => {
      const { ended, read } = await trusted({
        hooks: { PreToolUse: [{ matcher: "Write|Edit|MultiEdit", command: `python3 ${hook("protect.py")}` }] },
        scripts: {
          "protect.py": [
            "import json, os, sys",
            "data = json.load(sys.stdin)",
            "name = os.path.basename(data['tool_input']['file_path'])",
            "said = {'hookEventName': data['hook_event_name']}",
            "if name.startswith('.env'): said.update(permissionDecision='deny', permissionDecisionReason='secrets live there')",
            "else: said.update(additionalContext='generated by make')",
            "print(json.dumps({'hookSpecificOutput': said}))"
          ].join("\n")
        },
        calls: [write(".env.local", "x\n"), write("b.ts", "y\n")]
      })
      expect(ended.stdout).toContain("A hook says of this call: generated by make")
      expect(ended.stderr).toContain("secrets live there")
      expect([read(".env.local"), read("b.ts")]).toEqual([undefined, "y\n"])
    }
  )

  it("a hook that rewrites commands and one that logs them work together", async () => {
    const { ended, read } = await trusted({
      hooks: {
        PreToolUse: [
          { matcher: "Bash", command: "cat >> \"$CLAUDE_PROJECT_DIR\"/commands.jsonl" },
          {
            matcher: "Bash",
            command: "sed 's/.*/{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":"
              + "{\"command\":\"echo changed\",\"description\":\"d\"}}}/'"
          }
        ]
      },
      calls: [bash("echo original")]
    })
    expect(ended.stdout).toContain("got: changed")
    expect(JSON.parse(read("commands.jsonl") ?? "")).toMatchObject({
      tool_name: "Bash",
      tool_use_id: expect.stringMatching(/./),
      tool_input: { command: "echo original" }
    })
  })

  it("a hook that approves questions answers them, and lifts no denial", async () => {
    const approve = {
      matcher: "Bash",
      command:
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}'"
    }
    const asked = { hooks: { PermissionRequest: [approve] }, calls: [bash("touch made")] }
    const first = await trusted({ ...asked, permission: { "*": "allow", bash: "ask" } })
    expect(first.ended.code).toBe(0)
    expect(first.read("made")).toBe("")
    const second = await trusted({ ...asked, permission: { "*": "allow", bash: "deny" } })
    expect(second.read("made")).toBeUndefined()
  })
})

describe("hooks of a session", () => {
  it("add context at the start and write a log at the end, even on Ctrl-C; there is no file for variables", async () => {
    const project: Project = {
      hooks: {
        SessionStart: [{ matcher: "startup|resume", command: hook("start.sh") }],
        SessionEnd: ["cat >> ended"]
      },
      scripts: {
        "start.sh":
          "#!/bin/sh\nif [ -n \"$CLAUDE_ENV_FILE\" ]; then echo 'export A=1' >> \"$CLAUDE_ENV_FILE\"; touch env; fi\n"
          + "echo \"Files: $(ls)\"\n"
      }
    }
    const { ended, llm, place, read } = await trusted(project)
    expect(ended.code).toBe(0)
    expect(llm.requests.some(({ user }) => user.join("\n").includes("Files: a.txt"))).toBe(true)
    expect(read("env")).toBeUndefined()
    expect(JSON.parse(read("ended") ?? "")).toMatchObject({ hook_event_name: "SessionEnd", reason: "other" })

    const slow = await startLlm(() => ({ hangs: true }))
    atEnd(slow.close)
    const { child, ended: stopped } = place.start(["run", "-m", "openai/m", "go"], {
      env: { OPENAI_BASE_URL: slow.url }
    })
    await slow.asked(1)
    child.kill("SIGINT")
    expect((await stopped).code).toBe(130)
    expect(read("ended")?.trim().split("\n").length).toBe(2)
  })

  it("a loop at Stop continues the agent once, thanks to stop_hook_active", async () => {
    const { ended, llm } = await trusted({
      hooks: { Stop: [hook("stop.sh")] },
      scripts: {
        "stop.sh": "#!/bin/bash\ngrep -q '\"stop_hook_active\":true' && exit 0\n"
          + "echo '{\"decision\":\"block\",\"reason\":\"run the tests\",\"systemMessage\":\"one more round\"}'\n"
      }
    })
    expect(ended.stdout).toContain("got: A hook wants you to continue:\n\nrun the tests")
    expect(ended.stderr).toContain("one more round")
    expect(llm.requests.filter(({ last }) => last.includes("run the tests")).length).toBe(1)
  })

  it("a prompt gets context, or is refused", async () => {
    const { ended, run } = await trusted({
      hooks: {
        UserPromptSubmit: [
          "if grep -q password; then echo 'No secrets in prompts.' >&2; exit 2; fi",
          "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"It is Monday.\"}}'"
        ]
      }
    })
    expect(ended.stdout).toContain("It is Monday.")
    expect(await run("my password is x")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("No secrets in prompts.")
    })
  })

  it.runIf(hasPython)(
    "a notifier learns what needs permission, and a failing one is reported (needs python3)",
    async () => {
      const { ended, read } = await trusted({
        hooks: {
          Notification: [
            {
              matcher: "permission_prompt",
              command: "python3 -c \"import json,sys; open('note','w').write(json.load(sys.stdin)['message'])\""
            },
            { matcher: "", command: "no-such-bell" },
            { matcher: "idle_prompt", command: "touch idle" }
          ]
        },
        calls: [bash("touch made")],
        permission: { "*": "allow", bash: "ask" }
      })
      expect(read("note")).toBe("Skein needs your permission to use bash")
      expect(read("idle")).toBeUndefined()
      expect(ended.stderr).toMatch(/A Notification hook failed: no-such-bell: it ended with exit code 127/)
    }
  )

  it("a subagent gets context at its start, and is continued at its end", async () => {
    const { ended, read } = await trusted({
      hooks: {
        SubagentStart: [
          "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"SubagentStart\",\"additionalContext\":\"Be brief.\"}}'"
        ],
        SubagentStop: [
          "cat > stopped.json; grep -q '\"stop_hook_active\":true' stopped.json || { echo 'name the file' >&2; exit 2; }"
        ]
      },
      child: "child says",
      calls: [{ tool: "task", args: { description: "Look", prompt: "child a", subagent_type: "explore" } }]
    })
    expect(ended.stdout).toContain("child says: A hook wants you to continue:\n\nname the file")
    expect(JSON.parse(read("stopped.json") ?? "")).toMatchObject({ agent_type: "explore", stop_hook_active: true })
  })

  it("a hook that ends the work ends the turn, and its message cannot draw on the terminal", async () => {
    const { ended, llm } = await trusted({
      hooks: {
        PostToolUse: [{ matcher: "Bash", command: "cat .claude/hooks/end.json" }]
      },
      scripts: { "end.json": JSON.stringify({ continue: false, stopReason: "budget \u001b[2Jspent" }) },
      calls: [bash("echo x")]
    })
    expect(ended.code).toBe(3)
    expect(ended.stderr).toMatch(/ends the turn: budget .*spent/)
    expect(ended.stderr).toContain("A hook ended the turn.")
    expect(ended.stderr).not.toContain("\u001b[2J")
    expect(llm.requests.filter(({ messages }) => messages.at(-1)?.role === "tool").length).toBe(0)
  })
})

it("no hook of a clone runs before it is trusted, nor after its script has changed", async () => {
  const events = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "SessionEnd"
  ]
  const { place, read, run, trust } = await world({
    hooks: Object.fromEntries(events.map((event) => [event, [`echo ${event} >> ran; ${hook("x.sh")}`]])),
    scripts: { "x.sh": "#!/bin/sh\n" },
    calls: [bash("true")]
  })
  await run()
  expect(read("ran")).toBeUndefined()
  await trust()
  await run()
  expect(read("ran")?.trim().split("\n")).toEqual(events.filter((event) => event !== "PermissionRequest"))
  writeFileSync(join(place.project, ".claude/hooks/x.sh"), "#!/bin/sh\ntouch pwned\n")
  writeFileSync(join(place.project, "ran"), "")
  await run()
  expect([read("ran"), read("pwned")]).toEqual(["", undefined])
})
