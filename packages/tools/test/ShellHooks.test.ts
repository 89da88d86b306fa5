import { describe, expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Hooks } from "@skein/core/Hooks"
import type { HooksConfig } from "@skein/domain/HookConfig"
import type { SessionID } from "@skein/domain/Id"
import * as ShellHooks from "@skein/tools/ShellHooks"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gone, isAlive, pidIn } from "./support/processes.ts"

const tool = { name: "write", permission: "edit" }

const input = { path: "a.ts" }

/** A directory with scripts in it, and the hooks of a config that work there. */
const world = (config: HooksConfig, files: Readonly<Record<string, string>> = {}, knows = false) =>
  Effect.gen(function*() {
    const cwd = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-hooks-")))),
      (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
    )
    for (const [name, text] of Object.entries(files)) {
      fs.writeFileSync(join(cwd, name), text, { mode: name.endsWith(".txt") ? 0o644 : 0o755 })
    }
    const environment = { ...process.env, OPENAI_API_KEY: "sk-secret", HOOK_MODE: "strict", OTHER: "unseen" }
    const context = yield* Layer.build(
      ShellHooks.layer({ environment, pass: ["HOOK_MODE"], ...(knows ? { directory: cwd } : {}) }).pipe(
        Layer.provide(Config.layer({ hooks: config }))
      )
    )
    const hooks = yield* Effect.provide(Hooks, context)
    const id = "ses_1" as SessionID
    const at = { sessionID: id, rootID: id, path: ["build", "worker"], cwd }
    const before = hooks.preToolUse(at, tool, input)
    return { hooks, at, cwd, before, refusal: Effect.map(Effect.flip(before), ({ message }) => message) }
  })

/** What a hook of this command makes of a call. */
const guard = (command: string, timeout?: number) =>
  world({ PreToolUse: [{ command, ...(timeout === undefined ? {} : { timeout }) }] })

/** Ends when the process has whose number is in a file. */
const goneIn = (path: string) => Effect.flatMap(pidIn(path), gone)

describe("a shell hook", () => {
  it.scopedLive("is told of the event on its standard input, in the working directory of the session", () =>
    Effect.gen(function*() {
      const { at, before, cwd, hooks } = yield* world({
        PreToolUse: [{ command: "cat > told.json; pwd > where" }],
        Stop: [{ command: "cat > stop.json" }]
      })
      expect(yield* before).toEqual({})
      const read = (name: string) => fs.readFileSync(join(cwd, name), "utf8")
      expect(JSON.parse(read("told.json"))).toEqual({ event: "PreToolUse", ...at, tool: "write", input })
      expect(read("where").trim()).toBe(cwd)
      yield* hooks.stop(at, { output: "the end" }, false)
      expect(JSON.parse(read("stop.json"))).toEqual({ event: "Stop", ...at, output: "the end" })
    }))

  it.scopedLive("answers as JSON: a decision with its reason, and other arguments", () =>
    Effect.gen(function*() {
      const script =
        "#!/bin/sh\nread told\ncase $told in *a.ts*) echo '{\"decision\":\"deny\",\"reason\":\"not a.ts\"}';; esac\n"
      const { refusal } = yield* world({ PreToolUse: [{ command: "./guard.sh" }] }, { "guard.sh": script })
      expect(yield* refusal).toBe("The call was blocked by a hook (./guard.sh): not a.ts")
      const changing = yield* guard("echo '{\"input\": {\"path\": \"b.ts\"}}'")
      expect(yield* changing.before).toEqual({ changed: { input: { path: "b.ts" } } })
      const asking = yield* guard("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'")
      expect(yield* asking.before).toEqual({ asks: "sure?" })
    }))

  it.scopedLive("blocks by the exit code 2, with what it writes to standard error as the reason", () =>
    Effect.gen(function*() {
      const { refusal } = yield* guard("echo 'use the other tool' >&2; echo ignored; exit 2")
      expect(yield* refusal).toMatch(/^The call was blocked by a hook \(.*\): use the other tool$/)
    }))

  it.scopedLive("changes outputs, and consents", () =>
    Effect.gen(function*() {
      const { at, hooks } = yield* world({
        "tool.execute.after": [{ command: "sed 's/.*\"output\":\"\\([^\"]*\\)\".*/{\"output\":\"\\1 twice\"}/'" }],
        PermissionRequest: [{ command: "echo '{\"decision\":\"allow\"}'" }]
      })
      expect(yield* hooks.postToolUse(at, tool, input, { output: "once" })).toEqual({ output: "once twice" })
      const { path, rootID, sessionID } = at
      const request = {
        id: "per_1" as never,
        sessionID,
        rootID,
        path,
        permission: "edit",
        patterns: ["a"],
        always: [],
        metadata: {}
      }
      expect(yield* hooks.permissionRequest(at, tool, request)).toEqual({ allows: true })
    }))

  it.scopedLive("sees what a shell needs of the environment, and no secret", () =>
    Effect.gen(function*() {
      const { before, cwd } = yield* guard("env > seen")
      yield* before
      const seen = fs.readFileSync(join(cwd, "seen"), "utf8")
      expect(seen).toMatch(/^PATH=/m)
      expect(seen).toMatch(/^HOOK_MODE=strict$/m)
      expect(seen).not.toMatch(/sk-secret|unseen/)
    }))

  it.scopedLive("is written with its matcher, or nested under one; then its time is in seconds", () =>
    Effect.gen(function*() {
      const say = (word: string) => `echo ${word} >> said`
      const { before, cwd } = yield* world({
        PreToolUse: [
          { matcher: "bash|edit", command: say("one") },
          { matcher: "bash", command: say("none") },
          {
            matcher: "Write",
            hooks: [{ type: "command", command: say("two") }, {
              type: "command",
              command: `sleep 0.1; ${say("three")}`,
              timeout: 30
            }]
          }
        ]
      })
      yield* before
      expect(fs.readFileSync(join(cwd, "said"), "utf8")).toBe("one\ntwo\nthree\n")
    }))
})

describe("a shell hook that fails", () => {
  const told = (command: string, files: Readonly<Record<string, string>> = {}) =>
    Effect.flatMap(world({ PreToolUse: [{ command }] }, files), ({ refusal }) => refusal)

  it.scopedLive("keeps the call from being made, whatever it did wrong", () =>
    Effect.gen(function*() {
      expect(yield* told("echo no >&2; exit 1")).toContain("failed: it ended with exit code 1: no.")
      expect(yield* told("kill -9 $$")).toContain("it was ended by SIGKILL")
      expect(yield* told("./plain.txt", { "plain.txt": "echo hi\n" })).toMatch(
        /it ended with exit code 126: .*ermission denied/
      )
      expect(yield* told("./missing.sh")).toContain("it ended with exit code 127")
      expect(yield* told("echo looks fine")).toContain("its answer is not JSON: \"looks fine\"")
      expect(yield* told("echo '{\"decision\": \"allow\"'")).toContain("its answer is not JSON")
      expect(yield* told("echo null")).toContain("its answer has not the form")
      expect(yield* told("echo '{\"decision\": \"block\"}'")).toContain(
        "its answer has not the form of one to PreToolUse: decision"
      )
      expect(yield* told("echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"}}'")).toContain(
        "hookSpecificOutput"
      )
    }))

  it.scopedLive("is told of where the directory is gone", () =>
    Effect.gen(function*() {
      const { at, hooks } = yield* guard("true")
      const call = hooks.preToolUse({ ...at, cwd: "/nowhere/at/all" }, tool, input)
      expect((yield* Effect.flip(call)).message).toContain("the directory /nowhere/at/all is gone")
    }))

  it.scopedLive("by hanging ends in time, with all that it has started, also what ignores requests to end", () =>
    Effect.gen(function*() {
      const { cwd, refusal } = yield* guard(
        "trap '' TERM; sleep 300 & echo $$ > shell; echo $! > sleeper; setsid sh -c 'echo $$ > stray; exec sleep 300' & wait; sleep 300",
        400
      )
      expect(yield* refusal).toContain("it did not answer within 0.4 s")
      for (const name of ["shell", "sleeper", "stray"]) {
        yield* goneIn(join(cwd, name))
      }
    }))

  it.scopedLive("to answer leaves nothing behind when it is given up", () =>
    Effect.gen(function*() {
      const { before, cwd } = yield* guard("echo $$ > pid; sleep 300")
      const fiber = yield* Effect.fork(before)
      expect(isAlive(yield* pidIn(join(cwd, "pid")))).toBe(true)
      yield* Fiber.interrupt(fiber)
      yield* goneIn(join(cwd, "pid"))
    }))

  it.scopedLive("to end what it has started has it ended, and is not waited for", () =>
    Effect.gen(function*() {
      const { before, cwd } = yield* guard("sleep 300 & echo $! > pid")
      yield* before
      yield* goneIn(join(cwd, "pid"))
    }))

  it.scopedLive("to stop talking is not read for ever, and what it need not read it need not", () =>
    Effect.gen(function*() {
      expect(yield* told("head -c 6000000 /dev/zero | tr '\\0' x")).toContain("it answered more than 4 MB")
      const { at, hooks } = yield* guard("exec 0<&-; true")
      expect(yield* hooks.preToolUse(at, tool, { content: "x".repeat(3_000_000) })).toEqual({})
      const loud = yield* told("head -c 6000000 /dev/zero | tr '\\0' x >&2; exit 2")
      expect(loud.length).toBeLessThan(5_000)
    }))

  it.scopedLive("where nothing depends on it is reported", () => {
    const log: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void log.push(String(message)))
    return Effect.gen(function*() {
      const { at, hooks } = yield* world({
        SubagentStart: [{ command: "exit 2" }],
        PostToolUse: [{ command: "exit 3" }]
      })
      yield* hooks.subagentStart(at, "")
      expect(yield* hooks.postToolUse(at, tool, input, { output: "as it was" })).toEqual({ output: "as it was" })
      expect(log).toEqual([
        expect.stringMatching(
          /^The SubagentStart hook \(exit 2\) failed: its answer has not the form of one to SubagentStart: decision/
        ),
        expect.stringMatching(/^The PostToolUse hook \(exit 3\) failed: it ended with exit code 3\./)
      ])
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  })

  it.scopedLive("leaves nothing, also of what has left its group", () =>
    Effect.gen(function*() {
      const { before, cwd } = yield* guard(
        "(setsid sh -c 'echo $$ > pid; exec sleep 9999' >/dev/null 2>&1 &); while [ ! -s pid ]; do sleep 0.01; done"
      )
      yield* before
      yield* goneIn(join(cwd, "pid"))
    }))

  it.scopedLive("is recorded where records are kept", () =>
    Effect.gen(function*() {
      const cwd = fs.realpathSync(tmpdir())
      const started: Array<number> = []
      const track = Effect.succeed({
        mark: "abc",
        environment: { SKEIN_GROUP: "abc" },
        hasLapsed: () => false,
        exceeded: () => undefined,
        started: (pid: number) => void started.push(pid)
      })
      const context = yield* Layer.build(
        ShellHooks.layer({ environment: process.env, processes: { track: () => track, reap: Effect.succeed(0) } }).pipe(
          Layer.provide(Config.layer({ hooks: { PreToolUse: [{ command: "echo $$ $SKEIN_GROUP >&2; exit 2" }] } }))
        )
      )
      const id = "ses_1" as SessionID
      const { preToolUse } = yield* Effect.provide(Hooks, context)
      const { message } = yield* Effect.flip(
        preToolUse({ sessionID: id, rootID: id, path: ["build"], cwd }, tool, input)
      )
      expect(message).toContain(`${started.join()} abc`)
      expect(started.length).toBe(1)
    }))
})

describe("a script of a hook", () => {
  const command = "SOME=1 ./guard.sh >> log.txt && sh 'other file.sh' in.txt"
  const files = {
    "guard.sh": "#!/bin/sh\nexit 0\n",
    "other file.sh": "exit 0\n",
    "in.txt": "data",
    "log.txt": ""
  }
  it.scopedLive("is what it was when hooks were made, or does not run", () =>
    Effect.gen(function*() {
      const { before, cwd, refusal } = yield* world({ PreToolUse: [{ command }] }, files, true)
      expect(yield* before).toEqual({})
      fs.writeFileSync(join(cwd, "in.txt"), "changed")
      fs.writeFileSync(join(cwd, "log.txt"), "changed")
      expect(yield* before).toEqual({})
      for (const name of ["guard.sh", "other file.sh"] as const) {
        fs.writeFileSync(join(cwd, name), "touch pwned\n")
        expect(yield* refusal).toContain(`${join(cwd, name)} has changed since Skein started`)
        fs.writeFileSync(join(cwd, name), files[name])
      }
      expect(yield* before).toEqual({})
      fs.rmSync(join(cwd, "guard.sh"))
      expect(yield* refusal).toContain("guard.sh has changed since Skein started")
      expect(fs.existsSync(join(cwd, "pwned"))).toBe(false)
    }))

  it.scopedLive("that was not there does not run when somebody makes it, nor does the one of another directory", () =>
    Effect.gen(function*() {
      const { at, before, cwd, hooks, refusal } = yield* world(
        { PreToolUse: [{ command: "sh late.sh || true" }] },
        {},
        true
      )
      expect(yield* before).toEqual({})
      fs.mkdirSync(join(cwd, "tree"))
      fs.writeFileSync(join(cwd, "tree", "late.sh"), "touch pwned\n")
      const elsewhere = yield* Effect.flip(hooks.preToolUse({ ...at, cwd: join(cwd, "tree") }, tool, input))
      expect(elsewhere.message).toContain(join(cwd, "tree", "late.sh"))
      fs.writeFileSync(join(cwd, "late.sh"), "touch pwned\n")
      expect(yield* refusal).toContain("late.sh has changed since Skein started")
    }))

  it("is found in a line however that is written", () => {
    const config = (line: string) => ({ Stop: [{ command: line }] })
    const found = (line: string) => ShellHooks.scripts({ hooks: config(line) }, "/p")
    expect(found("'/a b'/./guard.sh --x y/z")).toEqual(["/a b/guard.sh"])
    expect(found("cd x; FOO=1 exec node --no-warnings tools/h.mjs data.json | tee out.txt")).toEqual(["/p/tools/h.mjs"])
    expect(found("bash -c 'python3 a.py && ./b' > log")).toEqual(["/p/a.py", "/p/b"])
    expect(found("jq . package.json; prettier --check src/a.ts")).toEqual([])
    expect(found("if test -f x; then . ./env.sh; fi")).toEqual(["/p/env.sh"])
  })
})
