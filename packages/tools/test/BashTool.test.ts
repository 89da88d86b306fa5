import { describe, expect, it } from "@effect/vitest"
import { heldByAnother } from "@skein/core/StorageError"
import type { ToolContext } from "@skein/core/Tool"
import { share } from "@skein/testing/Seeds"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import { elapse, gone, isAlive, turn } from "./support/processes.ts"
import { sessionID, Workspace } from "./workspace.ts"

/** A call whose command says when it is ready, in the line `ready PID`. */
const startedWith = (input: object) =>
  Effect.gen(function*() {
    const { call } = yield* Workspace
    const ready = yield* Deferred.make<string>()
    const fiber = yield* Effect.fork(call("bash", input, {
      report: ({ metadata }) => {
        const latest = String(metadata?.["output"])
        return latest.includes("ready") ? Deferred.succeed(ready, latest) : Effect.void
      }
    }))
    // The first lines are told at once; later ones wait for the clock.
    const latest = yield* elapse(yield* Effect.fork(Deferred.await(ready)))
    return { fiber, latest, pid: Number(/ready (\d+)/.exec(latest)?.[1]) }
  })

describe("bash", () => {
  it.effect("refuses a command that is too long to decide on or to start, and says what to do", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      for (const command of ["eval ".repeat(20_000), `: ${"x".repeat(200_000)}`, `echo ${"é".repeat(16_000)}`]) {
        const error = yield* Effect.flip(call("bash", { command }))
        expect(error).toMatchObject({
          kind: "invalid_arguments",
          message: expect.stringContaining("the limit is 32000")
        })
      }
      expect((yield* call("bash", { command: `echo ${"x".repeat(31_000)}` })).metadata).toMatchObject({ exit: 0 })
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("gives both outputs in order, and the exit code", () =>
    Effect.gen(function*() {
      const { call, repo } = yield* Workspace
      const done = yield* call("bash", { command: "echo a; echo b >&2; echo c; pwd", description: "says things" })
      expect(done).toMatchObject({
        output: `a\nb\nc\n${repo}\n`,
        title: "says things",
        metadata: { exit: 0, timedOut: false }
      })
      expect(done.asks).toMatchObject([{
        permission: "bash",
        patterns: ["echo a", "echo b", "echo c", "pwd"],
        exact: [],
        always: ["echo *", "pwd *"]
      }])
      const failed = yield* call("bash", { command: "printf no; exit 3" })
      expect(failed).toMatchObject({ output: "no\n(exit code 3)", metadata: { exit: 3 } })
      expect((yield* call("bash", { command: "true" })).output).toBe("(no output)")
      expect((yield* call("bash", { command: "kill -9 $$" })).metadata).toMatchObject({ exit: 137 })
      expect((yield* call("bash", { command: "no-such-program-here" })).output).toContain("command not found")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("has outputs that programs can open, and no input", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const { output } = yield* call("bash", {
        command: "echo x | tee /dev/stderr; cat; read -r line || echo 'no input'"
      })
      expect(output).toBe("x\nx\nno input\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("sees of the environment what a shell needs, and no secret (S52)", () =>
    Effect.gen(function*() {
      const { call, top } = yield* Workspace
      const { output } = yield* call("bash", { command: "env" })
      const names = output.trim().split("\n").map((line) => line.split("=", 1).join(""))
      expect(output).toContain(`HOME=${top}/home`)
      expect(output).toContain("EXTRA=extra")
      // What is set for commands is meant for them, whatever its name.
      expect(output).toContain("GIVEN_TOKEN=as it is")
      const allowed =
        /^(PATH|HOME|LANG|LC_.*|TERM|TZ|TMPDIR|USER|LOGNAME|SHELL|EXTRA|GIVEN_TOKEN|SKEIN_GROUP|PWD|OLDPWD|SHLVL|_)$/
      // Where toolchains lie, and whether there are colours.
      const harmless = /^(CI|COLORTERM|NO_COLOR|FORCE_COLOR|(?:[A-Z]+_)?(?:HOME|ROOT|PATH|DIR|PREFIX|INSTALL|ENV))$/
      expect(names.filter((name) => !allowed.test(name) && !harmless.test(name))).toEqual([])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses a NUL, and does not offer a wildcard as a rule", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      expect((yield* Effect.flip(asks("bash", { command: "ls\0" }))).kind).toBe("invalid_arguments")
      expect(yield* asks("bash", { command: "rm *.log" })).toMatchObject([{
        patterns: ["rm *.log"],
        exact: ["rm *.log"],
        always: []
      }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("shows beginning and end of a long output, and keeps all of it", () =>
    Effect.gen(function*() {
      const { call, top } = yield* Workspace
      const { output } = yield* call("bash", { command: "seq 100000; echo 'the end'; exit 2" })
      const path = `${top}/data/spill/${sessionID}/prt_test.out`
      expect(output).toMatch(/^1\n2\n3\n/)
      expect(output).toMatch(/\n99999\n100000\nthe end\n\(exit code 2\)$/)
      const [, head = "", left = "", tail = ""] =
        /^([^]*)\n\n\[(\d+) bytes are left out here\. [^\]]*\]\n\n([^]*)\n\(exit code 2\)$/.exec(output) ?? []
      expect(output).toContain(`The whole output is in ${path}; read it with offset and limit, or grep it.`)
      const whole = fs.readFileSync(path, "utf8")
      expect(whole).toBe(`${Array.from({ length: 100_000 }, (_, index) => index + 1).join("\n")}\nthe end\n`)
      expect(whole.startsWith(`${head}\n`) && whole.endsWith(`${tail}\n`)).toBe(true)
      expect(head.length + 1 + Number(left) + tail.length + 1).toBe(whole.length)
      expect(output.split("\n").length).toBeLessThanOrEqual(2_000)
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50 * 1024)
      expect(fs.statSync(path).mode & 0o777).toBe(0o600)
      expect(fs.statSync(`${top}/data/spill/${sessionID}`).mode & 0o777).toBe(0o700)
      expect((yield* call("read", { filePath: path, offset: 50_000, limit: 1 })).output).toContain(" 50000\t50000")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("shows a long line without a break, and does not cut characters in half", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const { output } = yield* call("bash", { command: "for i in {1..40000}; do printf '€'; done" })
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50 * 1024)
      expect(output).toMatch(/^€+\n\n\[\d+ bytes are left out here\. [^\]]*\]\n\n€+$/)
    }).pipe(Effect.provide(Workspace.layer)))

  const megabytes = share(1_024)

  it.effect(`stays in bounds with ${megabytes} MB of output (L11)`, () =>
    Effect.gen(function*() {
      const { call, top } = yield* Workspace
      const before = process.memoryUsage.rss()
      let peak = 0
      const sampled = Effect.forever(
        Effect.zipRight(turn, Effect.sync(() => peak = Math.max(peak, process.memoryUsage.rss())))
      )
      const { output } = yield* Effect.raceFirst(call("bash", { command: `yes | head -c ${megabytes}M` }), sampled)
      expect(fs.statSync(`${top}/data/spill/${sessionID}/prt_test.out`).size).toBe(64 * 1024 * 1024)
      expect(output).toContain("The first 64 MB of the output are in")
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50 * 1024)
      expect(peak - before).toBeLessThan(64 * 1024 * 1024)
    }).pipe(Effect.provide(Workspace.layer)), 60_000)

  it.effect("begins nothing once another process may have taken over, however late this one notices", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const write = { command: "echo made > effect" }
      const lost = yield* Effect.flip(
        call("bash", write, { confirm: heldByAnother("renew", { rootID: sessionID }) })
      )
      expect(lost).toMatchObject({ kind: "not_started", message: expect.stringContaining("no longer holds") })
      // As if this process had been suspended for a second between the question and the start.
      const late = yield* Effect.flip(call("bash", write, { confirm: Effect.succeed(-1_000) }))
      expect(late).toMatchObject({ kind: "not_started", message: expect.stringContaining("was suspended") })
      expect(fs.existsSync(at("effect"))).toBe(false)
      yield* call("bash", write, { confirm: Effect.succeed(60_000) })
      expect(fs.readFileSync(at("effect"), "utf8")).toBe("made\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("takes the code of a late start for one only if the command did not begin", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const { metadata } = yield* call("bash", { command: "exit 75" }, { confirm: Effect.succeed(60_000) })
      expect(metadata).toMatchObject({ exit: 75 })
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("tells the latest lines while it runs, at most ten times a second", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const told: Array<string> = []
      const report: ToolContext["report"] = ({ metadata }) => Effect.sync(() => told.push(String(metadata?.["output"])))
      // The clock stands still: no second word, however much is written.
      yield* call("bash", { command: "seq 100000" }, { report })
      expect(told.length).toBe(1)
      told.length = 0
      const waitFor = (name: string) => `while [ ! -e ${name} ]; do sleep 0.01; done`
      const command = `echo one; ${waitFor("go")}; seq 10; ${waitFor("end")}`
      const fiber = yield* Effect.fork(call("bash", { command }, { report }))
      yield* Effect.repeat(turn, { until: () => told.length === 1 })
      fs.writeFileSync(at("go"), "")
      yield* elapse(yield* Effect.fork(Effect.repeat(turn, { until: () => told.length === 2 })))
      expect(told).toEqual(["one", "8\n9\n10"])
      fs.writeFileSync(at("end"), "")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("ends what a command leaves in the background, and does not wait for it", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const result = yield* elapse(yield* Effect.fork(call("bash", { command: "sleep 9999 & echo $!" })))
      yield* gone(Number(result.output))
      expect(result.metadata).toMatchObject({ exit: 0 })
      const quiet = yield* call("bash", { command: "sleep 9999 >/dev/null 2>&1 & echo $!" })
      yield* gone(Number(quiet.output))
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("waits a little for what the background still says", () =>
    Effect.gen(function*() {
      const { call, at } = yield* Workspace
      fs.writeFileSync(at("wait.sh"), "while grep -qs ') [^Z]' /proc/$1/stat; do :; done; echo late")
      const { output } = yield* call("bash", { command: "bash wait.sh $$ & echo early" })
      expect(output).toBe("early\nlate\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("kills a command that runs too long, and tells what it wrote", () =>
    Effect.gen(function*() {
      const { fiber, pid } = yield* startedWith({
        command: "trap 'echo cleaned up; exit' TERM; echo ready $$; while :; do sleep 0.01; done",
        timeout: 60_000
      })
      yield* TestClock.adjust("1 minute")
      const error = yield* Effect.flip(Fiber.join(fiber))
      expect(error).toMatchObject({ kind: "timeout", metadata: { timedOut: true } })
      expect(error.message).toContain("The command ran longer than 60000 ms and was killed. Its output so far:\nready")
      expect(error.message).toContain("cleaned up")
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("ends with the call, also when it ignores requests to end (C17)", () =>
    Effect.gen(function*() {
      const { fiber, latest, pid } = yield* startedWith({
        command: "trap '' TERM; sleep 9999 & echo child $! ready $$; while :; do sleep 9999; done"
      })
      const child = Number(/child (\d+)/.exec(latest)?.[1])
      const interrupted = yield* Effect.fork(Fiber.interrupt(fiber))
      const start = yield* Clock.currentTimeMillis
      yield* Effect.repeat(turn, {
        until: () => Effect.map(TestClock.sleeps(), (times) => [...times].includes(start + 1_000))
      })
      expect(isAlive(pid)).toBe(true)
      yield* TestClock.adjust("1 second")
      yield* Fiber.await(interrupted)
      yield* gone(pid)
      yield* gone(child)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("ends at once when it obeys, without any time passing", () =>
    Effect.gen(function*() {
      const { fiber, pid } = yield* startedWith({ command: "echo ready $$; sleep 9999" })
      yield* Fiber.interrupt(fiber)
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("ends processes that have left its group", () =>
    Effect.gen(function*() {
      const { fiber, pid } = yield* startedWith({
        command: "setsid bash -c 'trap \"\" TERM; echo ready $$; while :; do sleep 9999; done' & wait"
      })
      yield* elapse(yield* Effect.fork(Fiber.interrupt(fiber)))
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))
})
