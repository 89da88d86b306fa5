/** The built program and tasks: their lists, their status, and what is left of them. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

describe("tasks", () => {
  const tree = (request: LlmRequest): LlmAnswer | string => {
    const last = request.messages.at(-1)
    const child = request.user.flatMap((text) => /child \w+$/.exec(text) ?? []).at(0)
    if (child !== undefined) {
      if (last?.role === "tool" || child === "child plain") return `${child} is done`
      return { calls: [{ tool: "write", args: { filePath: "new.txt", content: "made\n" } }] }
    }
    const task = (prompt: string, more: object) => ({
      tool: "task",
      args: { description: `Do ${prompt}`, prompt: `child ${prompt}`, subagent_type: "general", ...more }
    })
    return last?.role === "tool" ? "done" : { calls: [task("plain", {}), task("apart", { isolation: "worktree" })] }
  }
  const made = async () => {
    const llm = await startLlm(tree)
    const place = sandbox({ llm: llm.url, files: { "old.txt": "old\n" } })
    const price = { input: "10", output: "20" }
    place.configure({ provider: { openai: { models: { m: { price } } } } })
    atEnd(llm.close, place.remove)
    for (const args of [["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"]]) {
      execFileSync("git", args, { cwd: place.project })
    }
    const { stderr } = await place.run(["run", "-m", "openai/m", "--auto", "--title", "t", "go"])
    expect(stderr).toMatch(
      /^ {2}> subagent:worktree: The branch skein\/ses_\w+ has no commits of its own\. .* \(Do apart\)$/m
    )
    return place
  }

  it("are listed, shown and waited for", async () => {
    const place = await made()
    const { code, stdout } = await place.run(["tasks"])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^TASK\tSTATE\tAGENT\t.*\tCOST\tDESCRIPTION\nses_\w+\tcompleted\tgeneral\t.*\t\$0\.0012\tDo plain\nses_\w+\tcompleted\t.*\tDo apart\n$/
    )
    const [run] = JSON.parse((await place.run(["tasks", "list", "--format", "json"])).stdout)
    expect(run).toMatchObject({ state: "settled", prompt: "child plain", outcome: { text: "child plain is done" } })
    expect((await place.run(["tasks", "show", run.taskID])).stdout).toMatch(
      /^--- run_\w+ {2}completed {2}\S+ s {2}1 step, 110 tokens, \$0\.0012\nchild plain\n\nchild plain is done\n/m
    )
    const { rootID } = run
    expect((await place.run(["sessions", "show", rootID])).stdout).toContain(
      "used: 5 steps, 550 tokens, $0.0060, with all below it\n"
    )
    expect((await place.run(["sessions"])).stdout).toContain("\t5\t550\t$0.0060\tt\n")
    expect(await place.run(["tasks", "wait", run.taskID])).toMatchObject({ code: 0, stderr: "" })
    for (const command of ["show", "wait"]) {
      expect(await place.run(["tasks", command, "ses_x"])).toMatchObject({
        code: 2,
        stderr: "skein: There is no task ses_x. See `skein tasks`.\n"
      })
    }
  })

  it("of all sessions are listed together, newest first", async () => {
    const place = await made()
    await place.run(["run", "-m", "openai/m", "--auto", "--format", "quiet", "go"])
    const of = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await place.run(["tasks", "list", "--format", "json", ...args])).stdout) as ReadonlyArray<
        { readonly id: string; readonly rootID: string }
      >
    const all = await of("--all")
    expect(all).toHaveLength(4)
    expect(new Set(all.map(({ rootID }) => rootID)).size).toBe(2)
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted().toReversed())
    expect(await of()).toHaveLength(2)
    expect((await of("--all", "--limit", "3")).map(({ id }) => id)).toEqual(all.slice(0, 3).map(({ id }) => id))
    expect((await place.run(["tasks", "--all"])).stdout).toMatch(
      /^TASK\tROOT\tSTATE\t.*\nses_\w+\tses_\w+\tcompleted\t/
    )
    expect(await place.run(["tasks", "list", "ses_1", "--all"])).toMatchObject({ code: 2 })
    const server = await startServer(place)
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    expect((await of("--all", `--attach=${server.url}`)).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    const first = (await server.send("/v1/tasks?limit=3")).json
    expect(first.items.map(({ id }: { readonly id: string }) => id)).toEqual(all.slice(0, 3).map(({ id }) => id))
    const last = (await server.send(`/v1/tasks?limit=3&cursor=${first.next}`)).json
    expect(last).toEqual({ items: [expect.objectContaining({ id: all[3]?.id })] })
    expect((await server.send("/v1/tasks?cursor=nonsense")).status).toBe(400)
  })

  it("are logged with --verbose and by a server", async () => {
    const llm = await startLlm(tree)
    const place = sandbox({ llm: llm.url })
    const server = await startServer(place, ["--log-format", "json"])
    atEnd(llm.close, place.remove, async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    const logged = (log: string) =>
      log.split("\n").filter((line) => line.startsWith("{")).flatMap((line) => {
        const { description, level, message, outcome } = JSON.parse(line)
        return description === "Do plain" ? [{ level, message, outcome }] : []
      })
    const line = (message: string, more: object = {}) => ({ level: "info", message, ...more })
    const expected = [
      line("A task is created"),
      line("A task begins"),
      line("A task has ended", { outcome: "completed" })
    ]
    const run = ["run", "-m", "openai/m", "--title", "t", "go"]
    const alone = await place.run([...run, "--attach=off", "--db", "alone.db", "--verbose", "--log-format", "json"])
    expect(logged(alone.stderr)).toEqual(expected)
    expect((await place.run([...run, "--attach=off", "--db", "alone.db"])).stderr).not.toContain("A task is created")
    await place.run(run)
    expect(logged(server.output())).toEqual(expected)
  })

  it("are found by a prefix of their id, and by the ids of their runs", async () => {
    const place = await made()
    const runs: ReadonlyArray<{ readonly id: string; readonly taskID: string }> = JSON.parse(
      (await place.run(["tasks", "list", "--format", "json"])).stdout
    )
    const [first = "", second = ""] = runs.map(({ taskID }) => taskID)
    const same = [...first].findIndex((character, i) => character !== second[i])
    const whole = await place.run(["tasks", "show", first])
    for (const id of [first.slice(0, same + 1), runs[0]?.id ?? "", (runs[0]?.id ?? "").slice(0, -1)]) {
      expect(await place.run(["tasks", "show", id])).toEqual(whole)
      expect((await place.run(["tasks", "wait", id])).stdout).toContain("child plain is done")
      expect((await place.run(["tasks", "stop", id])).stdout).toContain(`The task ${first} was not at work`)
      expect((await place.run(["tasks", "send", id, "more"])).stderr).toContain(`The task ${first} is not at work`)
    }
    for (const command of ["show", "wait", "stop"]) {
      expect(await place.run(["tasks", command, first.slice(0, same)])).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(`${first}, ${second}. Write more of the one that you mean.`)
      })
    }
  })

  it("that have not settled are shown with what they wait for", async () => {
    const hanging = async (request: LlmRequest): Promise<LlmAnswer | string> => {
      const last = request.messages.at(-1)
      const child = request.user.flatMap((text) => /child \w+$/.exec(text) ?? []).at(0)
      const task = (prompt: string, subagent_type: string) => ({
        tool: "task",
        args: { description: `Do ${prompt}`, prompt: `child ${prompt}`, subagent_type }
      })
      if (child === "child thinks") return { hangs: true }
      if (child === "child fails") return { status: 500 }
      return last?.role === "tool"
        ? "done"
        : { calls: [task("thinks", "lead"), task("fails", "lead"), task("leads", "lead")] }
    }
    const lead = (request: LlmRequest) =>
      request.user.some((text) => text.endsWith("child leads")) && request.messages.at(-1)?.role !== "tool"
        ? {
          calls: [{ tool: "task", args: { description: "Do below", prompt: "child thinks", subagent_type: "lead" } }]
        }
        : hanging(request)
    const llm = await startLlm(lead)
    const place = sandbox({ llm: llm.url })
    atEnd(llm.close, place.remove)
    const config = join(place.home, "config", "skein")
    mkdirSync(config, { recursive: true })
    const agent = { lead: { mode: "subagent", description: "Leads.", permission: { task: "allow" } } }
    const retry = { base: 3_600_000, max_delay: 3_600_000 }
    writeFileSync(join(config, "skein.json"), JSON.stringify({ agent, retry }))
    const running = place.start(["run", "-m", "openai/m", "--auto", "--title", "t", "--format", "quiet", "go"])
    atEnd(() => running.child.kill("SIGKILL"))
    await llm.asked(5)
    const shown = async (description: string) => {
      const runs: ReadonlyArray<{ readonly description: string; readonly taskID: string }> = JSON.parse(
        (await place.run(["tasks", "list", "--format", "json"])).stdout
      )
      const run = runs.find((each) => each.description === description)
      return (await place.run(["tasks", "show", run?.taskID ?? ""])).stdout
    }
    expect(await shown("Do thinks")).toContain("According to storage, it waits for the model.")
    expect(await shown("Do leads")).toMatch(/it waits for 1 task of its own: ses_\w+\./)
    await expect.poll(() => shown("Do fails")).toMatch(/it tries the model again at \S+Z \(attempt 1 failed\): /)
  })

  it("that have left a worktree keep it until it is removed with --force", async () => {
    const place = await made()
    const shown = await place.run(["tasks", "clean"])
    const [, directory = ""] = /^kept\t(\S+)\t0 commits, 1 uncommitted file\tDo apart\n$/.exec(shown.stdout) ??
      []
    expect(existsSync(join(directory, "new.txt"))).toBe(true)
    const task = basename(directory)
    const now = async () => (await place.run(["tasks", "show", task])).stdout.trim().split("\n").at(-1)
    const branch = `skein/${task}`
    expect(await now()).toBe(
      `The branch ${branch} has no commits of its own. The work is in ${directory}: 1 file with changes that are not committed.`
    )
    execFileSync("git", ["add", "."], { cwd: directory })
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "new"], { cwd: directory })
    const files = "0 files with changes that are not committed."
    expect(await now()).toBe(`The work is on the branch ${branch}, in ${directory}: 1 commit, ${files}`)
    execFileSync("git", ["merge", "-q", branch], { cwd: place.project })
    expect(await now()).toBe(
      `The work is on the branch ${branch}, in ${directory}: 1 commit that other branches have as well, ${files}`
    )
    expect((await place.run(["tasks", "clean", "--force", "--dry-run"])).stdout).toMatch(/^would be removed\t/)
    expect(existsSync(directory)).toBe(true)
    expect((await place.run(["tasks", "clean", "--force"])).stdout).toMatch(/^removed\t/)
    expect(existsSync(directory)).toBe(false)
    expect(await now()).toBe(`Its worktree ${directory} was removed.`)
    expect((await place.run(["tasks", "clean"])).stderr).toBe("No task has left a worktree.\n")
  })
})

describe("tasks at work in another process", () => {
  /** A run whose one task waits in its first request until it is released; its next request decides what it does. */
  const working = async (then: (request: LlmRequest) => LlmAnswer | string | Promise<string>) => {
    let release = () => {}
    const held = new Promise<void>((resolve) => release = resolve)
    const llm = await startLlm(async (request) => {
      if (!request.user.some((text) => text.startsWith("child"))) {
        const last = request.messages.at(-1)
        if (last?.role === "tool") return `got: ${String(last.content)}`
        return {
          calls: [{ tool: "task", args: { description: "Work", prompt: "child", subagent_type: "general" } }]
        }
      }
      if (request.messages.every(({ role }) => role !== "tool") && request.tools.length > 0) {
        await held
        return { text: "half done", calls: [{ tool: "list", args: { path: "." } }] }
      }
      return then(request)
    })
    const place = sandbox({ llm: llm.url })
    atEnd(llm.close, place.remove)
    const running = place.start(["run", "-m", "openai/m", "--title", "t", "--format", "quiet", "go"])
    await llm.asked(2)
    const [run] = JSON.parse((await place.run(["tasks", "list", "--format", "json"])).stdout)
    return { llm, place, running, release, id: String(run.taskID) }
  }

  it("read messages at their next step", async () => {
    const { id, place, release, running } = await working(({ user }) => `heard: ${user.at(-1)}`)
    const sent = await place.run(["tasks", "send", id, "also", "look at b"])
    expect(sent).toMatchObject({ code: 0, stdout: `The task ${id} reads it at its next step.\n`, stderr: "" })
    release()
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toContain("heard: also look at b")
    const late = await place.run(["tasks", "send", id, "too late"])
    expect(late.code).toBe(2)
    expect(late.stderr).toContain(`The task ${id} is not at work: it has settled (completed).`)
  })

  it("conclude when they are stopped, and their caller gets the partial result", async () => {
    let conclude = () => {}
    const concluded = new Promise<string>((resolve) => conclude = () => resolve("what I have"))
    const { id, place, release, running } = await working(({ tools }) =>
      tools.length === 0 ? concluded : { text: "on and on", hangs: true }
    )
    const stopping = place.start(["tasks", "stop", id, "--reason", "enough"])
    await until(async () => new RegExp(`^${id}\tstopping\t`, "m").test((await place.run(["tasks"])).stdout))
    expect(stopping.output()).toContain("is stopping")
    conclude()
    const stopped = await stopping.ended
    release()
    expect(stopped).toMatchObject({
      code: 0,
      stderr: `The task ${id} is stopping: it has half a minute to conclude.\n`
    })
    expect(stopped.stdout).toContain("! The task was stopped by the user: enough.\n\nwhat I have\n")
    const { stdout } = await running.ended
    expect(stdout).toContain("state: stopped")
    expect(stdout).toContain("what I have")
    expect(await place.run(["tasks", "stop", id])).toMatchObject({
      code: 0,
      stdout: `The task ${id} was not at work: it has settled (stopped).\n`
    })
  })

  it("name the user if Ctrl-C stops their whole run", async () => {
    const { id, place, running } = await working(() => "never")
    running.child.kill("SIGINT")
    expect(await running.ended).toMatchObject({ code: 130 })
    expect((await place.run(["tasks", "show", id])).stdout).toContain("! The task was stopped by the user.\n")
  })

  it("keep messages when their process is dead", async () => {
    const { id, place, running } = await working(() => "never")
    running.child.kill("SIGKILL")
    await running.ended
    const sent = await place.run(["tasks", "send", id, "are you there"])
    expect(sent).toMatchObject({ code: 1, stdout: "" })
    expect(sent.stderr).toContain(`No process answers for the task ${id}`)
    expect((await place.run(["tasks", "stop", id])).code).toBe(1)
  })

  it("are reported as interrupted when their process is dead, and nothing waits for them", async () => {
    const { id, place, running } = await working(() => "never")
    running.child.kill("SIGKILL")
    await running.ended
    expect((await place.run(["tasks", "list"])).stdout).toMatch(new RegExp(`^${id}\tinterrupted`, "m"))
    expect((await place.run(["tasks", "show", id])).stdout).toMatch(
      /its process has ended[^]*skein sessions resume ses_/
    )
    const waited = await place.run(["tasks", "wait", id])
    expect(waited).toMatchObject({ code: 2, stdout: "" })
    expect(waited.stderr).toMatch(/does not settle: its process has ended.*skein sessions resume ses_/)
  })

  it.each([["send", "ses_x", "hello"], ["stop", "ses_x"]])("are named by their ids: %s", async (...args) => {
    const place = sandbox({ llm: "http://127.0.0.1:9/v1" })
    atEnd(place.remove)
    expect(await place.run(["tasks", ...args])).toMatchObject({
      code: 2,
      stderr: "skein: There is no task ses_x. See `skein tasks`.\n"
    })
  })
})
