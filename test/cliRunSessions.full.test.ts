/** The built program: its sessions, and its tasks in the background and in worktrees. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import type { LlmAnswer, LlmRequest } from "./support/llm.ts"
import { family, familyFiles, linesOf, world } from "./support/run.ts"

vi.setConfig({ testTimeout: 60_000 })

describe("sessions", () => {
  it("continues a session by its id, and the newest one of the project", async () => {
    const { llm, place, run } = await world(({ user }) => `answer ${user.length}`)
    const first = await run(["--format", "json", "--title", "Mine", "one"])
    const id = linesOf(first.stdout).at(-1)?.sessionID ?? ""
    expect((await run(["--format", "quiet", "-s", id, "two"])).stdout).toBe("answer 2\n")
    expect((await run(["--format", "quiet", "-c", "three"])).stdout).toBe("answer 3\n")
    expect((await place.run(["sessions", "resume", id, "four", "-m", "openai/m", "--format", "quiet"])).stdout).toBe(
      "answer 4\n"
    )
    expect(llm.requests.at(-1)?.user).toEqual(["one", "two", "three", "four"])
    const listed = await place.run(["sessions", "--format", "json"])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id, title: "Mine", directory: place.project }])
  })

  it("numbers the events of a tree of agents from 1 without a gap, even if another tree runs in between", async () => {
    const { place, run } = await world(family, familyFiles)
    const seqs: Array<number> = []
    const note = (stdout: string) => {
      const lines = linesOf(stdout)
      seqs.push(...lines.flatMap(({ seq }) => seq ?? []))
      return lines.at(-1)?.sessionID ?? ""
    }
    const id = note((await run(["--format", "json", "go"])).stdout)
    const inOne = seqs.length
    await run(["--format", "quiet", "another tree"])
    note((await place.run(["sessions", "resume", id, "go on", "-m", "openai/m", "--format", "json"])).stdout)
    expect(inOne).toBeGreaterThan(20)
    expect(seqs.length).toBeGreaterThan(inOne)
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  })

  it("stays in the project: another directory has no session to continue", async () => {
    const { place, run } = await world(() => "ok")
    await run(["--format", "quiet", "one"])
    const other = await run(["-c", "two"], { cwd: place.home })
    expect(other.code).toBe(2)
    expect(other.stderr).toMatch(/^skein: There is no session in .* to continue\. .*\n$/)
  })

  it("uses the git root: a directory below it is the same project", async () => {
    const { place, run } = await world(({ user }) => `answer ${user.length}`, { "sub/x.txt": "x" })
    await run(["--format", "quiet", "one"])
    expect((await run(["--format", "quiet", "-c", "two"], { cwd: join(place.project, "sub") })).stdout).toBe(
      "answer 2\n"
    )
  })
})

describe("tasks in the background", () => {
  const background = (request: LlmRequest): LlmAnswer | string => {
    const [asked = ""] = request.user
    if (asked === "child") return "the child's result"
    const news = request.user.find((text) => text.includes("<task-notification"))
    if (news !== undefined) return `It says: ${/Result:\n(.*)/.exec(news)?.[1]}`
    return request.messages.at(-1)?.role === "tool"
      ? "I have begun."
      : {
        calls: [{
          tool: "task",
          args: { description: "Look", prompt: "child", subagent_type: "explore", background: true }
        }]
      }
  }

  it("are awaited, and their consequences are the answer", async () => {
    const { run } = await world(background)
    const ended = await run(["--title", "t", "go"])
    expect(ended).toMatchObject({ code: 0, stdout: "It says: the child's result\n" })
    expect(ended.stderr).toMatch(/> background task completed description=Look after=\d/)
  })

  /** A run with --no-wait whose background task is interrupted in the middle of its answer. */
  const interrupted = async (...flags: ReadonlyArray<string>) => {
    let hangs = true
    const { llm, place, run } = await world((request) =>
      request.user[0] === "child" && hangs
        ? { text: "so far", hangs: true }
        : request.user.at(-1) === "And?"
        ? "And more."
        : background(request)
    )
    const ended = await run(["--title", "t", "--no-wait", ...flags, "go"])
    hangs = false
    const stored = JSON.parse((await place.run(["tasks", "--format", "json"])).stdout) as ReadonlyArray<object>
    const news = () =>
      new Set(llm.requests.flatMap(({ user }) => user.filter((text) => text.includes("<task-notification")))).size
    return { ended, llm, news, place, run, stored }
  }

  const sentence = /^skein: The background task "Look" \((ses_\w+), explore\) is interrupted\.$/m
  const advice = /^skein: Continue with `skein sessions resume (ses_\w+)`, or with the next prompt in this session\.$/m

  it("are interrupted by --no-wait, which says so, and continued by sessions resume, which reports each result once", async () => {
    const { ended, news, place } = await interrupted()
    expect(ended).toMatchObject({ code: 0, stdout: "I have begun.\n", stderr: expect.stringMatching(sentence) })
    const [, id = ""] = advice.exec(ended.stderr) ?? []
    expect(ended.stderr).not.toMatch(/failed|stopped/)
    expect(news()).toBe(0)
    expect(await place.run(["sessions", "resume", id])).toMatchObject({
      code: 0,
      stdout: "It says: the child's result\n"
    })
    expect(news()).toBe(1)
    const again = await place.run(["sessions", "resume", id])
    expect(again).toMatchObject({ code: 0, stdout: "It says: the child's result\n" })
    expect(again.stderr).toContain("There was nothing to continue")
    expect(news()).toBe(1)
  })

  it("are interrupted without an event for their end, and named in the JSON result", async () => {
    const { ended, stored } = await interrupted("--format", "json")
    const lines = linesOf(ended.stdout)
    expect(
      lines.map(({ type }) => type).filter((type) => /^(subagent|background_task)\.(completed|failed)$/.test(type))
    )
      .toEqual([])
    const [, taskID] = sentence.exec(ended.stderr) ?? []
    expect(lines.at(-1)).toMatchObject({
      type: "result",
      outcome: "completed",
      exitCode: 0,
      interrupted: [{ task_id: taskID, run_id: expect.stringMatching(/^run_/), agent: "explore", description: "Look" }]
    })
    expect(stored).toMatchObject([{ description: "Look", state: "running" }])
  })

  it("are continued by the next prompt, even if that does not wait either", async () => {
    const { news, run } = await interrupted("--format", "quiet")
    // The result may come before the answer or after it.
    expect((await run(["-c", "--no-wait", "And?"])).code).toBe(0)
    expect((await run(["-c", "And?"])).code).toBe(0)
    expect(news()).toBe(1)
  })

  it("are not reported as interrupted if all of them have settled", async () => {
    const { run } = await world(() => "fine")
    expect(await run(["--title", "t", "--no-wait", "go"])).toEqual({
      code: 0,
      signal: null,
      stdout: "fine\n",
      stderr: ""
    })
  })
})

it("a task with its own worktree does not change the project, and reports where its work is", async () => {
  const { place, run } = await world((request) => {
    const [asked = ""] = request.user
    const last = request.messages.at(-1)
    if (asked.includes("in the git worktree")) {
      return last?.role === "tool"
        ? "I wrote it."
        : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "made\n" } }] }
    }
    const args = { description: "Write", prompt: "child", subagent_type: "general", isolation: "worktree" }
    return last?.role === "tool" ? String(last.content) : { calls: [{ tool: "task", args }] }
  }, { "old.txt": "old\n" })
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      cwd: place.project,
      encoding: "utf8"
    })
  git("add", ".")
  git("commit", "-qm", "first")
  const { code, stdout } = await run(["--title", "t", "--auto", "--format", "quiet", "go"])
  expect(code).toBe(0)
  const [, branch, directory = ""] =
    /branch (skein\/ses_\w+) has no commits of its own\. The work is in (\S+): [^]*1 file with changes/.exec(stdout) ??
      []
  expect(stdout).toContain("new.txt")
  expect(readFileSync(join(directory, "new.txt"), "utf8")).toBe("made\n")
  expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  expect(git("status", "--porcelain")).toBe("")
  expect(git("branch", "--list", branch ?? "none")).not.toBe("")
})
