/** What becomes of hooks that are written for Claude Code: a test for each row of the table in this package's README. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { bash, type Entries, own, run, saying, world } from "./support/claudeWorld.ts"
import { gone, pidIn } from "./support/processes.ts"

/** What hooks before a call of `bash` make of it. */
const before = (entries: Entries, input: unknown = { command: "ls" }) =>
  Effect.flatMap(world({ PreToolUse: entries }), ({ at, hooks, logged }) => logged(hooks.preToolUse(at, bash, input)))

const refusal = (entries: Entries) => Effect.map(Effect.flip(before(entries)), ({ message }) => message)

describe("what hooks are told", () => {
  it.scopedLive.each<[string, unknown, string, unknown]>([
    ["bash", { command: "ls", timeout: 5 }, "Bash", { command: "ls", timeout: 5 }],
    ["read", { filePath: "a.ts", limit: 3 }, "Read", { file_path: "CWD/a.ts", limit: 3 }],
    ["write", { filePath: "/x/a.ts", content: "b" }, "Write", { file_path: "/x/a.ts", content: "b" }],
    ["edit", { filePath: "a.ts", oldString: "b", newString: "c", replaceAll: true }, "Edit", {
      file_path: "CWD/a.ts",
      old_string: "b",
      new_string: "c",
      replace_all: true
    }],
    ["glob", { pattern: "*.ts", path: "src" }, "Glob", { pattern: "*.ts", path: "src" }],
    ["grep", { pattern: "a", glob: "*.ts" }, "Grep", { pattern: "a", glob: "*.ts" }],
    ["list", { path: "src" }, "LS", { path: "src" }],
    ["task", { description: "a", prompt: "b", subagent_type: "c" }, "Task", {
      description: "a",
      prompt: "b",
      subagent_type: "c"
    }],
    ["webfetch", { url: "https://a.b" }, "WebFetch", { url: "https://a.b" }],
    ["todowrite", { todos: [] }, "TodoWrite", { todos: [] }],
    ["skill", { name: "a" }, "Skill", { skill: "a" }],
    ["my_own", { filePath: "a" }, "my_own", { filePath: "a" }]
  ])("PreToolUse: a call of %s in their names", ([name, input, tool_name, tool_input]) =>
    Effect.gen(function*() {
      const { at, cwd, hooks, json } = yield* world({
        PreToolUse: [{ matcher: tool_name, hooks: [{ type: "command", command: "cat > told.json" }] }]
      })
      expect(yield* hooks.preToolUse(at, { name, permission: name }, input)).toEqual({})
      expect(json("told.json")).toEqual({
        session_id: "ses_1",
        transcript_path: "",
        cwd,
        permission_mode: "default",
        hook_event_name: "PreToolUse",
        tool_name,
        tool_input: JSON.parse(JSON.stringify(tool_input).replaceAll("CWD", cwd))
      })
    }))

  it.scopedLive("PreToolUse: a patch as an edit of each of its files, so that no guard of edits is passed by", () =>
    Effect.gen(function*() {
      const guard = "case $(cat) in *b.txt*) echo no b.txt >&2; exit 2;; esac"
      const { at, hooks } = yield* world({
        PreToolUse: [{ matcher: "Edit|Write", hooks: [{ type: "command", command: guard }] }]
      })
      const patch = (name: string) => ({
        patchText: `*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** Add File: ${name}\n+c\n*** End Patch\n`
      })
      const tool = { name: "patch", permission: "edit" }
      expect(yield* hooks.preToolUse(at, tool, patch("c.txt"))).toEqual({})
      expect((yield* Effect.flip(hooks.preToolUse(at, tool, patch("b.txt")))).message).toContain("no b.txt")
    }))

  it.scopedLive("PostToolUse, PostToolUseFailure, Notification, Stop, SubagentStop and the starts: what each adds", () =>
    Effect.gen(function*() {
      const save = run(
        "told=$(cat); echo \"$told\" > $(echo \"$told\" | sed 's/.*\"hook_event_name\":\"\\([A-Za-z]*\\)\".*/\\1/').json"
      )
      const { at, hooks, json } = yield* world({
        SessionStart: save,
        UserPromptSubmit: save,
        PostToolUse: save,
        PostToolUseFailure: save,
        Notification: save,
        Stop: save,
        PreCompact: [{ matcher: "auto", hooks: save[0]!.hooks }],
        SubagentStart: save,
        SubagentStop: save
      })
      yield* hooks.sessionStart(at)
      yield* hooks.userPromptSubmit(at, "do it")
      expect(yield* hooks.postToolUse(at, bash, { command: "ls" }, { output: "a" })).toEqual({ output: "a" })
      expect(yield* hooks.postToolUse(at, bash, { command: "ls" }, { output: "b", failed: true })).toEqual({
        output: "b"
      })
      yield* hooks.stop(at, { output: "done" }, true)
      yield* hooks.subagentStart({ ...at, path: ["build", "explore"] }, "look")
      yield* hooks.subagentStop({ ...at, path: ["build", "explore"] }, { output: "seen" })
      yield* hooks.notification(at, bash, {} as never)
      expect(json("SessionStart.json")).toMatchObject({ source: "startup" })
      expect(json("UserPromptSubmit.json")).toMatchObject({ prompt: "do it" })
      expect(json("PostToolUse.json")).toMatchObject({
        tool_name: "Bash",
        tool_input: { command: "ls" },
        tool_response: { stdout: "a", stderr: "", interrupted: false }
      })
      expect(json("PostToolUseFailure.json")).toMatchObject({ tool_name: "Bash", error: "b" })
      yield* hooks.preCompact(at, "manual")
      expect(fs.existsSync(join(at.cwd, "PreCompact.json"))).toBe(false)
      yield* hooks.preCompact(at, "auto")
      expect(json("PreCompact.json")).toMatchObject({ trigger: "auto" })
      expect(json("Stop.json")).toMatchObject({ stop_hook_active: true, last_assistant_message: "done" })
      expect(json("SubagentStart.json")).toMatchObject({ agent_type: "explore" })
      expect(json("SubagentStop.json")).toMatchObject({ agent_type: "explore", last_assistant_message: "seen" })
      expect(json("Notification.json")).toMatchObject({ notification_type: "permission_prompt" })
    }))

  it.scopedLive("CLAUDE_PROJECT_DIR, and nothing secret of the environment", () =>
    Effect.gen(function*() {
      const { at, cwd, hooks, read } = yield* world(
        { PreToolUse: run("\"$CLAUDE_PROJECT_DIR\"/guard.sh") },
        { "guard.sh": "#!/bin/sh\nenv > seen\n" }
      )
      yield* hooks.preToolUse(at, bash, {})
      expect(read("seen")).toContain(`CLAUDE_PROJECT_DIR=${cwd}\n`)
      expect(read("seen")).toContain("FROM_SETTINGS=yes\n")
      fs.writeFileSync(join(cwd, "guard.sh"), "#!/bin/sh\ntouch pwned\n")
      expect((yield* Effect.flip(hooks.preToolUse(at, bash, {}))).message).toContain(
        "guard.sh has changed since Skein started"
      )
    }))
})

describe("what PreToolUse answers", () => {
  it.scopedLive("blocks: exit code 2, block, deny, and an end of all work", () =>
    Effect.gen(function*() {
      expect(yield* refusal(run("echo no >&2; exit 2"))).toContain("blocked by a hook (of Claude Code's settings): no")
      expect(yield* refusal(run(saying({ decision: "block", reason: "not so" })))).toContain(": not so")
      const deny = own("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "never" })
      expect(yield* refusal(run(saying(deny)))).toContain(": never")
      expect(yield* refusal(run(saying({ continue: false, stopReason: "enough" })))).toContain(": enough")
    }))

  it.scopedLive("asks, consents, changes the input, or says nothing", () =>
    Effect.gen(function*() {
      const ask = own("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" })
      expect(yield* before(run(saying(ask)))).toEqual({ asks: "sure?" })
      expect(yield* before(run(saying(own("PreToolUse", { permissionDecision: "allow" }))))).toEqual({ consents: true })
      expect(yield* before(run(saying({ decision: "approve" })))).toEqual({ consents: true })
      const changed = own("PreToolUse", { updatedInput: { command: "ls -l" } })
      expect(yield* before(run(saying(changed)))).toEqual({ changed: { input: { command: "ls -l" } } })
      for (const quiet of ["true", "echo all is well", saying({}), saying({ continue: true, suppressOutput: true })]) {
        expect(yield* before(run(quiet))).toEqual({})
      }
    }))

  it.scopedLive("turns a changed input back into the tool's own names", () =>
    Effect.gen(function*() {
      const { at, hooks } = yield* world({
        PreToolUse: run(
          saying(own("PreToolUse", { updatedInput: { file_path: "/x", old_string: "a", new_string: "b" } }))
        )
      })
      expect(yield* hooks.preToolUse(at, { name: "edit", permission: "edit" }, { filePath: "y" })).toEqual({
        changed: { input: { filePath: "/x", oldString: "a", newString: "b" } }
      })
    }))

  it.scopedLive("blocks where it cannot be understood, or fails", () =>
    Effect.gen(function*() {
      expect(yield* refusal(run("echo '{ \"decision\": '"))).toContain("is not JSON")
      expect(yield* refusal(run(saying({ decision: "perhaps" })))).toContain("cannot be understood")
      expect(yield* refusal(run(saying(own("PreToolUse", { permissionDecision: "maybe" }))))).toContain(
        "cannot be understood"
      )
      expect(yield* refusal(run(saying(own("PostToolUse", {}))))).toContain("its answer is one to PostToolUse")
      expect(yield* refusal(run("echo broken >&2; exit 1"))).toContain("it ended with exit code 1: broken")
      expect(yield* refusal([{ matcher: "(", hooks: [{ type: "command", command: "true" }] }])).toContain("its matcher")
    }))

  it.scopedLive("of several, which run at once: who blocks stands over who asks, and who asks over who consents", () =>
    Effect.gen(function*() {
      // Each waits for the other.
      const meet = (mine: string, other: string) => `touch ${mine}; while [ ! -e ${other} ]; do sleep 0.01; done`
      const allow = saying(own("PreToolUse", { permissionDecision: "allow" }))
      const ask = saying(own("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" }))
      expect(yield* before(run(`${meet("a", "b")}; ${allow}`, `${meet("b", "a")}; ${ask}`))).toEqual({ asks: "sure?" })
      expect(yield* refusal(run(ask, "exit 2", allow))).toContain("The call was blocked")
    }))

  it.scopedLive("is waited for in seconds, and nothing of it is left", () =>
    Effect.gen(function*() {
      const { at, cwd, hooks } = yield* world({
        PreToolUse: [{ hooks: [{ type: "command", command: "echo $$ > pid; sleep 300", timeout: 0.3 }] }]
      })
      expect((yield* Effect.flip(hooks.preToolUse(at, bash, {}))).message).toContain("it did not answer within 0.3 s")
      yield* Effect.flatMap(pidIn(join(cwd, "pid")), gone)
    }))
})

describe("matchers", () => {
  it.scopedLive.each<[string, ReadonlyArray<string>]>([
    ["", ["bash", "read", "mcp__a__b"]],
    ["*", ["bash", "read", "mcp__a__b"]],
    ["Bash", ["bash"]],
    ["bash", []],
    ["Bash|Read", ["bash", "read"]],
    ["B.*|^Re", ["bash", "read"]],
    ["mcp__.*", ["mcp__a__b"]]
  ])("%j means %j", ([matcher, expected]) =>
    Effect.gen(function*() {
      const { at, hooks } = yield* world({ PreToolUse: [{ matcher, hooks: [{ type: "command", command: "exit 2" }] }] })
      const found: Array<string> = []
      for (const name of ["bash", "read", "mcp__a__b"]) {
        const { _tag } = yield* Effect.either(hooks.preToolUse(at, { name, permission: name }, {}))
        if (_tag === "Left") found.push(name)
      }
      expect(found).toEqual(expected)
    }))

  it.scopedLive("take bounded time, and one that takes longer blocks", () =>
    Effect.gen(function*() {
      const { at, hooks } = yield* world({
        PreToolUse: [{ matcher: "^(a+)+$", hooks: [{ type: "command", command: "true" }] }]
      })
      const tool = { name: `${"a".repeat(40)}b`, permission: "x" }
      expect((yield* Effect.flip(hooks.preToolUse(at, tool, {}))).message).toContain("its matcher")
    }))
})

describe("what other events answer", () => {
  it.scopedLive("PostToolUse tells the model a reason or context, and keeps the result", () =>
    Effect.gen(function*() {
      const said = (command: string) =>
        Effect.flatMap(world({ PostToolUse: run(command) }), ({ at, hooks, logged }) =>
          logged(Effect.map(hooks.postToolUse(at, bash, {}, { output: "done" }), ({ output }) =>
            output)))
      expect(yield* said("echo lint failed >&2; exit 2")).toBe("done\n\nA hook says of this call: lint failed")
      expect(yield* said(saying({ decision: "block", reason: "fix it" }))).toBe(
        "done\n\nA hook says of this call: fix it"
      )
      expect(yield* said(saying(own("PostToolUse", { additionalContext: "note" })))).toBe(
        "done\n\nA hook says of this call: note"
      )
      for (const quiet of ["echo formatted", "exit 1", "echo '{'", saying({ decision: "perhaps" })]) {
        expect(yield* said(quiet)).toBe("done")
      }
    }))

  it.scopedLive("UserPromptSubmit blocks the prompt, or adds what it writes or says as context", () =>
    Effect.gen(function*() {
      const of = (...commands: ReadonlyArray<string>) =>
        Effect.flatMap(
          world({ UserPromptSubmit: run(...commands) }),
          ({ at, hooks, logged }) =>
            logged(Effect.merge(Effect.mapError(hooks.userPromptSubmit(at, "x"), ({ message }) => message)))
        )
      expect(yield* of("echo 'It is Monday.'")).toEqual(["It is Monday."])
      expect(yield* of(saying(own("UserPromptSubmit", { additionalContext: "a" })), "echo b")).toEqual(["a\n\nb"])
      expect(yield* of("echo secret >&2; exit 2")).toContain("The prompt was blocked by a hook")
      expect(yield* of(saying({ decision: "block", reason: "no" }))).toContain(": no")
      expect(yield* of("exit 1")).toEqual([])
    }))

  it.scopedLive("SessionStart adds context, and cannot block", () =>
    Effect.gen(function*() {
      const { at, hooks, logged } = yield* world({
        SessionStart: [
          ...run("echo branch main", "exit 2"),
          { matcher: "resume|clear", hooks: [{ type: "command", command: "echo never" }] }
        ]
      })
      expect(yield* logged(hooks.sessionStart(at))).toEqual(["branch main"])
    }))

  it.scopedLive("Stop has the session go on with a reason, unless a hook ends the work", () =>
    Effect.gen(function*() {
      const of = (...commands: ReadonlyArray<string>) =>
        Effect.flatMap(world({ Stop: run(...commands) }), ({ at, hooks, logged }) =>
          logged(hooks.stop(at, { output: "" }, false)))
      expect(yield* of("echo run the tests >&2; exit 2")).toBe("run the tests")
      expect(yield* of(saying({ decision: "block", reason: "go on" }))).toBe("go on")
      expect(yield* of(saying({ decision: "block", reason: "go on" }), saying({ continue: false }))).toBeUndefined()
      expect(yield* of("say done 2>/dev/null; exit 0")).toBeUndefined()
    }))

  it.scopedLive("what means nothing is said once, and what is for the user is said to the user", () =>
    Effect.gen(function*() {
      const answer = saying({
        systemMessage: "look out",
        brandNew: 1,
        ...own("PreToolUse", { newer: "x" })
      })
      const { at, hooks, log, logged, shown } = yield* world({ PreToolUse: run(answer), SubagentStop: run("exit 2") })
      yield* logged(hooks.preToolUse(at, bash, {}))
      yield* logged(hooks.preToolUse(at, bash, {}))
      expect(log.filter((line) => line.includes("has no meaning here")).length).toBe(1)
      expect(log.join()).toMatch(/brandNew, newer/)
      expect(shown.filter((line) => line.endsWith(": look out")).length).toBe(2)
    }))
})
