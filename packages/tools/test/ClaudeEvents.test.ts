/** Events and answers of hooks that are written for Claude Code, beside those around calls. */
import { describe, expect, it } from "@effect/vitest"
import type { PermissionRequest } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { bash, own, run, saying, world } from "./support/claudeWorld.ts"
import { gone, pidIn } from "./support/processes.ts"

const request = {} as PermissionRequest

const call = { input: { command: "ls" }, callID: "call_1" }

/** What hooks make of a question about `ls`. */
const question = (...commands: ReadonlyArray<string>) =>
  Effect.flatMap(
    world({ PermissionRequest: run(...commands) }),
    ({ at, hooks, logged }) => logged(hooks.permissionRequest(at, bash, request, call))
  )

const ruling = (decision: object) => saying(own("PermissionRequest", { decision }))

describe("PermissionRequest", () => {
  it.scopedLive("is told of the call, for the tools that its matcher names", () =>
    Effect.gen(function*() {
      const { at, hooks, json } = yield* world({
        PermissionRequest: [
          {
            matcher: "Bash",
            hooks: [{ type: "command", command: `cat > told.json; ${ruling({ behavior: "allow" })}` }]
          },
          { matcher: "Edit", hooks: [{ type: "command", command: "exit 2" }] }
        ]
      })
      expect(yield* hooks.permissionRequest(at, bash, request, call)).toEqual({ allows: true })
      expect(json("told.json")).toMatchObject({
        hook_event_name: "PermissionRequest",
        tool_name: "Bash",
        tool_input: { command: "ls" },
        tool_use_id: "call_1",
        permission_suggestions: []
      })
    }))

  it.scopedLive("allows, changes the input, or leaves the question to a person", () =>
    Effect.gen(function*() {
      expect(yield* question(ruling({ behavior: "allow" }))).toEqual({ allows: true })
      expect(yield* question(ruling({ behavior: "allow", updatedInput: { command: "ls -l" } }))).toEqual({
        allows: true,
        changed: { input: { command: "ls -l" } }
      })
      for (const quiet of ["true", "echo fine", saying({}), "afplay 2>/dev/null; exit 0"]) {
        expect(yield* question(quiet)).toEqual({ allows: false })
      }
    }))

  it.scopedLive("denies, also where one that allows or one that fails is beside it", () =>
    Effect.gen(function*() {
      const no = (...commands: ReadonlyArray<string>) => Effect.flip(question(...commands))
      expect((yield* no(ruling({ behavior: "deny", message: "not here" }))).message).toContain(": not here")
      expect((yield* no("echo never >&2; exit 2", ruling({ behavior: "allow" }))).message).toContain(": never")
      expect(yield* no(ruling({ behavior: "deny", interrupt: true }))).toMatchObject({ endsTurn: true })
      expect((yield* no(ruling({ behavior: "deny" }))).endsTurn).toBeUndefined()
      expect((yield* no("exit 1", ruling({ behavior: "allow" }))).message).toContain("it ended with exit code 1")
      expect((yield* no(ruling({ behavior: "perhaps" }))).message).toContain("cannot be understood")
    }))
})

describe("a hook that answers with what has no effect", () => {
  it.scopedLive("is warned of once", () =>
    Effect.gen(function*() {
      const answer = ruling({ behavior: "allow", updatedPermissions: [{ type: "addRules" }] })
      const { at, hooks, log, logged } = yield* world({ PermissionRequest: run(answer) })
      expect(yield* logged(hooks.permissionRequest(at, bash, request, call))).toEqual({ allows: true })
      yield* logged(hooks.permissionRequest(at, bash, request, call))
      expect(log.filter((line) => line.endsWith("has no meaning here: updatedPermissions.")).length).toBe(1)
    }))
})

describe("a call that edits several files", () => {
  it.scopedLive("is allowed where each file is, and not where one is", () =>
    Effect.gen(function*() {
      const allow = (event: string, said: object) => `case $(cat) in *a.txt*) ${saying(own(event, said))};; esac`
      const { at, cwd, hooks } = yield* world({
        PreToolUse: run(allow("PreToolUse", { permissionDecision: "allow" })),
        PermissionRequest: run(allow("PermissionRequest", { decision: { behavior: "allow" } }))
      })
      const patch = (name: string) => ({
        patchText: `*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: ${name}\n+c\n*** End Patch\n`
      })
      const tool = { name: "patch", permission: "edit" }
      expect(yield* hooks.preToolUse(at, tool, patch("b.txt"))).toEqual({})
      expect(yield* hooks.preToolUse(at, tool, patch("aa.txt"))).toEqual({ consents: true })
      const asked = (name: string) => hooks.permissionRequest(at, tool, request, { input: patch(name), callID: "c" })
      expect(yield* asked("b.txt")).toEqual({ allows: false })
      expect(yield* asked("aa.txt")).toEqual({ allows: true })
      expect(existsSync(join(cwd, "a.txt"))).toBe(false)
    }))
})

describe("the ends and beginnings of a session and a subagent", () => {
  it.scopedLive("SessionStart: its matcher is held against how the session starts", () =>
    Effect.gen(function*() {
      const on = (matcher: string) => ({ matcher, hooks: [{ type: "command" as const, command: `echo ${matcher}` }] })
      const { at, hooks } = yield* world({ SessionStart: [on("startup"), on("resume"), on("compact"), on("clear")] })
      expect(yield* hooks.sessionStart(at, "startup")).toEqual(["startup"])
      expect(yield* hooks.sessionStart(at, "resume")).toEqual(["resume"])
      expect(yield* hooks.sessionStart(at, "compact")).toEqual(["compact"])
    }))

  it.scopedLive("SessionEnd: told the reason, and given a second and a half unless it says otherwise", () =>
    Effect.gen(function*() {
      const { at, cwd, hooks, json, log, logged } = yield* world({
        SessionEnd: [
          { matcher: "other", hooks: [{ type: "command", command: "cat > told.json; echo $$ > pid; sleep 300" }] },
          { matcher: "clear", hooks: [{ type: "command", command: "touch never" }] }
        ]
      })
      yield* logged(hooks.sessionEnd(at))
      expect(json("told.json")).toMatchObject({ hook_event_name: "SessionEnd", reason: "other" })
      expect(existsSync(join(cwd, "never"))).toBe(false)
      expect(log.join()).toContain("it did not answer within 1.5 s")
      yield* Effect.flatMap(pidIn(join(cwd, "pid")), gone)
    }))

  it.scopedLive("Notification: its matcher is held against the kind", () =>
    Effect.gen(function*() {
      const on = (matcher: string) => ({ matcher, hooks: [{ type: "command" as const, command: `touch ${matcher}` }] })
      const { at, cwd, hooks } = yield* world({ Notification: [on("permission_prompt"), on("idle_prompt")] })
      yield* hooks.notification(at, bash, request)
      expect(["permission_prompt", "idle_prompt"].filter((name) => existsSync(join(cwd, name)))).toEqual([
        "permission_prompt"
      ])
    }))

  it.scopedLive("SubagentStart tells the subagent more, SubagentStop holds it; both by the agent's name", () =>
    Effect.gen(function*() {
      const { at, hooks, json } = yield* world({
        SubagentStart: [
          {
            matcher: "explore",
            hooks: [{ type: "command", command: saying(own("SubagentStart", { additionalContext: "a" })) }]
          },
          {
            matcher: "general",
            hooks: [{ type: "command", command: saying(own("SubagentStart", { additionalContext: "b" })) }]
          }
        ],
        SubagentStop: [
          { matcher: "explore", hooks: [{ type: "command", command: "cat > told.json; echo test it >&2; exit 2" }] },
          { matcher: "general", hooks: [{ type: "command", command: saying({ decision: "block", reason: "more" }) }] }
        ]
      })
      const below = (name: string) => ({ ...at, sessionID: "ses_2" as SessionID, path: ["build", name] })
      expect(yield* hooks.subagentStart(below("explore"), "look")).toEqual(["a"])
      expect(yield* hooks.subagentStop(below("explore"), { output: "seen" }, true)).toBe("test it")
      expect(json("told.json")).toMatchObject({
        session_id: "ses_1",
        agent_id: "ses_2",
        agent_type: "explore",
        stop_hook_active: true,
        last_assistant_message: "seen"
      })
      expect(yield* hooks.subagentStop(below("general"), { output: "" })).toBe("more")
      expect(yield* hooks.subagentStop(below("other"), { output: "" })).toBeUndefined()
    }))
})

describe("what every event is told", () => {
  it.scopedLive("the mode, the id of the call, and in a subagent the session of its root", () =>
    Effect.gen(function*() {
      const told = (path: ReadonlyArray<string>, auto = false) =>
        Effect.gen(function*() {
          const { at, hooks, json } = yield* world({ PostToolUse: run("cat > told.json") }, {}, { auto })
          yield* hooks.postToolUse({ ...at, sessionID: "ses_2" as SessionID, path }, bash, {}, { output: "" }, "call_1")
          return json("told.json") as Record<string, unknown>
        })
      const inRoot = yield* told(["build"])
      expect(inRoot).toMatchObject({ permission_mode: "default", tool_use_id: "call_1", session_id: "ses_1" })
      expect(inRoot).not.toHaveProperty("agent_id")
      expect(yield* told(["plan"])).toMatchObject({ permission_mode: "plan" })
      expect(yield* told(["build"], true)).toMatchObject({ permission_mode: "bypassPermissions" })
      expect(yield* told(["build", "explore"])).toMatchObject({
        session_id: "ses_1",
        agent_id: "ses_2",
        agent_type: "explore"
      })
    }))
})

describe("answers of every event", () => {
  it.scopedLive("PreToolUse: additionalContext is for the model", () =>
    Effect.gen(function*() {
      const context = saying(own("PreToolUse", { additionalContext: "generated" }))
      const { at, hooks } = yield* world({ PreToolUse: run(context) })
      expect(yield* hooks.preToolUse(at, bash, {})).toEqual({ contexts: ["generated"] })
    }))

  it.scopedLive("continue: false ends the turn, and the user is shown why", () =>
    Effect.gen(function*() {
      const end = run(saying({ continue: false, stopReason: "enough" }))
      const { at, hooks, shown } = yield* world({
        PreToolUse: end,
        PostToolUse: end,
        PostToolUseFailure: end,
        PermissionRequest: end,
        Stop: end,
        UserPromptSubmit: end,
        PreCompact: end
      })
      expect(yield* Effect.flip(hooks.preToolUse(at, bash, {}))).toMatchObject({ endsTurn: true })
      expect(yield* Effect.flip(hooks.permissionRequest(at, bash, request, call))).toMatchObject({ endsTurn: true })
      expect(yield* hooks.postToolUse(at, bash, {}, { output: "a" })).toEqual({ output: "a", endsTurn: true })
      expect(yield* hooks.postToolUse(at, bash, {}, { output: "b", failed: true })).toEqual({
        output: "b",
        endsTurn: true
      })
      expect(yield* hooks.stop(at, { output: "" })).toBeUndefined()
      expect((yield* Effect.flip(hooks.userPromptSubmit(at, "x"))).message).toContain(": enough")
      yield* hooks.preCompact(at, "auto")
      expect(shown.map((line) => line.replace(/ \(.*\)/, ""))).toEqual(
        ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop"].map((event) =>
          `${event} hook ends the turn: enough`
        )
      )
    }))

  it.scopedLive("systemMessage is shown to the user, and only so much of it", () =>
    Effect.gen(function*() {
      const { at, hooks, shown } = yield* world(
        { Stop: run("cat long.json"), SessionStart: run(saying({ systemMessage: " " })) },
        { "long.json": JSON.stringify({ systemMessage: "x".repeat(100_000), suppressOutput: true }) }
      )
      yield* hooks.stop(at, { output: "" })
      yield* hooks.sessionStart(at)
      expect(shown).toEqual([`Stop hook (cat long.json): ${"x".repeat(2_000)}`])
    }))
})

describe("a hook that misbehaves", () => {
  it.scopedLive("before a call blocks it: by a flood, by dying of a signal, by a script that has changed", () =>
    Effect.gen(function*() {
      const no = (command: string) =>
        Effect.flatMap(
          world({ PreToolUse: run(command) }),
          ({ at, hooks }) => Effect.map(Effect.flip(hooks.preToolUse(at, bash, {})), ({ message }) => message)
        )
      expect(yield* no("yes | head -c 6000000")).toContain("it answered more than 4 MB")
      expect(yield* no("kill -9 $$")).toContain("it was ended by SIGKILL")
      const { at, cwd, hooks } = yield* world({ PermissionRequest: run("./ask.sh") }, { "ask.sh": "#!/bin/sh\n" })
      expect(yield* hooks.permissionRequest(at, bash, request, call)).toEqual({ allows: false })
      writeFileSync(join(cwd, "ask.sh"), "#!/bin/sh\ntouch pwned\n")
      expect((yield* Effect.flip(hooks.permissionRequest(at, bash, request, call))).message).toContain(
        "has changed since Skein started"
      )
      expect(existsSync(join(cwd, "pwned"))).toBe(false)
    }))

  it.scopedLive("leaves no process behind, whatever it has started", () =>
    Effect.gen(function*() {
      const { at, cwd, hooks } = yield* world({
        Stop: run(
          "setsid sh -c 'echo $$ > daemon; exec sleep 300' >/dev/null 2>&1 & while [ ! -s daemon ]; do sleep 0.01; done"
        )
      })
      yield* hooks.stop(at, { output: "" })
      expect(Number(readFileSync(join(cwd, "daemon"), "utf8"))).toBeGreaterThan(1)
      yield* Effect.flatMap(pidIn(join(cwd, "daemon")), gone)
    }))
})
