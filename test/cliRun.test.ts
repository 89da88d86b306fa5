/** The built program, its prompts and its formats. */
import * as Event from "@skein/domain/Event"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox, type Start } from "./support/cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = async (script: (request: LlmRequest) => LlmAnswer | string, files?: Readonly<Record<string, string>>) => {
  const llm: Llm = await startLlm(script)
  const place: Sandbox = sandbox({ llm: llm.url, ...(files === undefined ? {} : { files }) })
  atEnd(llm.close, place.remove)
  const run = (args: ReadonlyArray<string>, start?: Start) => place.run(["run", "-m", "openai/m", ...args], start)
  return { llm, place, run }
}

/** A parent that delegates twice, and two children that read a file. */
const family = (request: LlmRequest): LlmAnswer | string => {
  const task = (description: string, prompt: string) => ({
    tool: "task",
    args: { description, prompt, subagent_type: "explore" }
  })
  const [asked = ""] = request.user
  if (asked.startsWith("child")) {
    return request.messages.at(-1)?.role === "tool"
      ? `${asked} read: ${request.last.includes("needle") ? "needle" : "nothing"}`
      : { calls: [{ tool: "read", args: { filePath: `${asked.replace("child ", "")}.txt` } }] }
  }
  return request.messages.at(-1)?.role === "tool"
    ? `Both say: ${
      request.messages.filter(({ role }) => role === "tool").map(({ content }) =>
        /read: (\w+)/.exec(String(content))?.[1]
      ).join(", ")
    }`
    : { text: "I ask two.", calls: [task("Look into a", "child a"), task("Look into b", "child b")] }
}

const familyFiles = { "a.txt": "a needle\n", "b.txt": "hay\n" }

interface Line {
  readonly type: string
  readonly seq?: number
  readonly sessionID: string
  readonly depth: number
  readonly properties: unknown
}

const linesOf = (stdout: string): ReadonlyArray<Line> =>
  stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line)

describe("an answer of text, reasoning and text", () => {
  const answer: LlmAnswer = {
    deltas: [{ content: "First half.\n" }, { reasoning_content: "hm" }, { content: "  \n" }, {
      reasoning_content: "hm"
    }],
    text: "Second half."
  }
  const whole = "First half.\n\nSecond half."

  it.each(["default", "quiet"])("is printed whole with --format %s", async (format) => {
    const { run } = await world(() => answer)
    expect(await run(["--format", format, "go"])).toMatchObject({ code: 0, stdout: `${whole}\n` })
  })

  it("is the text of the JSON result", async () => {
    const { run } = await world(() => answer)
    const { stdout } = await run(["--format", "json", "go"])
    expect(linesOf(stdout).at(-1)).toMatchObject({ type: "result", outcome: "completed", text: whole })
  })

  it("is printed completely if it was cut off, even if there is nothing to continue", async () => {
    let isFirst = true
    const { place, run } = await world(() => {
      if (!isFirst) return answer
      isFirst = false
      return { ...answer, hangs: true }
    })
    const running = place.start(["run", "-m", "openai/m", "--format", "json", "--title", "t", "go"])
    await until(() => running.output().includes("Second half."))
    running.child.kill("SIGINT")
    const cut = await running.ended
    expect(linesOf(cut.stdout).at(-1)).toMatchObject({ type: "result", outcome: "stopped", text: whole })
    expect((await run(["-c", "go"])).stdout).toBe(`${whole}\n`)
    const [{ id }] = JSON.parse((await place.run(["sessions", "list", "--format", "json"])).stdout) as [{ id: string }]
    expect((await place.run(["sessions", "resume", id])).stdout).toBe(`${whole}\n`)
  })

  it("returns only its last text to the caller of a task", async () => {
    const { run } = await world((request) =>
      request.user[0] === "child"
        ? answer
        : request.messages.at(-1)?.role === "tool"
        ? String(request.messages.at(-1)?.content)
        : { calls: [{ tool: "task", args: { description: "Look", prompt: "child", subagent_type: "explore" } }] }
    )
    const { stdout } = await run(["--format", "quiet", "go"])
    expect(stdout).toContain("<task_result>\nSecond half.\n</task_result>")
  })
})

describe("formats", () => {
  it("quiet prints the answer and nothing else", async () => {
    const { run } = await world(family, familyFiles)
    expect(await run(["--format", "quiet", "go"])).toEqual({
      code: 0,
      signal: null,
      stdout: "Both say: needle, nothing\n",
      stderr: ""
    })
  })

  it("default prints a line for each call, by depth, on standard error, and only the answer on standard output", async () => {
    const { run } = await world(family, familyFiles)
    const { code, stderr, stdout } = await run(["go"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Both say: needle, nothing\n" })
    expect(stderr.trimEnd().split("\n").toSorted()).toEqual([
      "  > subagent:read path=a.txt limit=all (Look into a)",
      "  > subagent:read path=b.txt limit=all (Look into b)",
      "> task description=Look into a subagent_type=explore",
      "> task description=Look into b subagent_type=explore"
    ])
  })

  it("json prints every event of the tree by its schema, and the result as the last line", async () => {
    const { run } = await world(family, familyFiles)
    const { code, stderr, stdout } = await run(["--format=json", "--title", "t", "go"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const lines = linesOf(stdout)
    const result = lines.at(-1)
    const events = lines.slice(0, -1)
    for (const event of events) {
      expect(Object.keys(Event.properties)).toContain(event.type)
      const schema: Schema.Schema.AnyNoContext = Event.properties[event.type as Event.EventType]
      expect(() => Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(event.properties)).not.toThrow()
      expect(event).toMatchObject({
        timestamp: expect.any(Number),
        sessionID: expect.stringMatching(/^ses_/),
        rootID: expect.any(String)
      })
    }
    expect(events.filter(({ type }) => type === "subagent.completed")).toHaveLength(2)
    expect(new Set(events.map(({ depth }) => depth))).toEqual(new Set([0, 1]))
    expect(result).toMatchObject({
      type: "result",
      sessionID: events[0]?.sessionID,
      text: "Both say: needle, nothing",
      finish: "stop",
      outcome: "completed",
      usage: { steps: 6, tokens: { input: 600, output: 60 }, cost: "unknown" },
      exitCode: 0
    })
  })

  it("json ends with a result if the run fails, too", async () => {
    const { run } = await world(() => ({ status: 400 }))
    const { code, stderr, stdout } = await run(["--format", "json", "go"])
    const result = linesOf(stdout).at(-1)
    expect(code).toBe(1)
    expect(result).toMatchObject({ type: "result", outcome: "failed", exitCode: 1, error: { tag: "invalid_request" } })
    expect(stderr).toMatch(/^skein: .*scripted 400.*\n$/)
  })

  it("prints an answer of a megabyte completely and unchanged", async () => {
    const answer = `\u001b[31mred\u001b[0m ${"0123456789abcde\n".repeat(64 * 1024)}end`
    const { run } = await world(() => answer)
    const { code, stdout } = await run(["--format", "quiet", "go"])
    expect(code).toBe(0)
    expect(stdout === `${answer}\n`).toBe(true)
  })

  it("escapes on standard error what models write", async () => {
    const { run } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "done"
        : { calls: [{ tool: "read", args: { filePath: "a\u001b[2J\u202e.txt" } }] }
    )
    const { stderr } = await run(["go"])
    expect(stderr).toContain("path=a\\x1b[2J\\u202e.txt")
    expect(stderr).not.toContain("\u001b")
  })
})

describe("prompts", () => {
  it("joins words and standard input", async () => {
    const { llm, run } = await world(() => "ok")
    await run(["--format", "quiet", "sum", "this", "up"], { input: "one\ntwo\n" })
    expect(llm.requests[0]?.user).toEqual(["sum this up\none\ntwo\n"])
  })

  it("accepts standard input alone, and words after -- that begin with a dash", async () => {
    const { llm, run } = await world(() => "ok")
    await run(["--format", "quiet"], { input: "from a pipe" })
    await run(["--format", "quiet", "--", "-x", "--y"])
    expect(llm.requests.map(({ user }) => user)).toEqual([["from a pipe"], ["-x --y"]])
  })

  it("attaches text and images", async () => {
    const { llm, place, run } = await world(() => "ok")
    const pixel = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
      "base64"
    )
    writeFileSync(join(place.project, "dot.png"), pixel)
    writeFileSync(join(place.project, "notes.txt"), "some notes")
    expect((await run(["--format", "quiet", "-f", "notes.txt", "--file=dot.png", "look"])).code).toBe(0)
    const content = JSON.stringify(llm.requests[0]?.messages.at(-1)?.content)
    expect(content).toContain("some notes")
    expect(content).toContain(`data:image/png;base64,${pixel.toString("base64")}`)
  })

  it("accepts a prompt of ten megabytes", async () => {
    const { llm, run } = await world(() => "ok")
    const prompt = "0123456789".repeat(1024 * 1024)
    expect((await run(["--format", "quiet"], { input: prompt })).code).toBe(0)
    expect(llm.requests[0]?.user[0] === prompt).toBe(true)
  })

  it("does not wait for an open standard input if there is a prompt", async () => {
    const { run } = await world(() => "ok")
    expect((await run(["--format", "quiet", "go"], { silent: true })).stdout).toBe("ok\n")
  })
})

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
  const [, branch, directory = ""] = /branch (skein\/ses_\w+), in (\S+): 0 commits, 1 file with changes/.exec(stdout) ??
    []
  expect(stdout).toContain("new.txt")
  expect(readFileSync(join(directory, "new.txt"), "utf8")).toBe("made\n")
  expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  expect(git("status", "--porcelain")).toBe("")
  expect(git("branch", "--list", branch ?? "none")).not.toBe("")
})
