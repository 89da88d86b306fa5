/** The built program, its prompts and its formats. */
import * as Event from "@skein/domain/Event"
import * as Schema from "effect/Schema"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import type { LlmAnswer } from "./support/llm.ts"
import { family, familyFiles, linesOf, world } from "./support/run.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

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

it("continues after blank text and a blank result, which a strict provider refuses", async () => {
  const blank: LlmAnswer = {
    text: "\n\n",
    calls: [{ tool: "bash", args: { command: "printf '\\r\\n'", description: "Print a blank line" } }]
  }
  const { llm, run } = await world((request) =>
    request.messages.at(-1)?.role === "user" && request.user.length === 1 ? blank : "done"
  )
  expect(await run(["--auto", "--format", "quiet", "go"])).toMatchObject({ code: 0, stdout: "done\n" })
  expect(await run(["-c", "--format", "quiet", "on"])).toMatchObject({ code: 0, stdout: "done\n" })
  const results = llm.requests.at(-1)?.messages.filter(({ role }) => role === "tool").map(({ content }) => content)
  expect(results).toEqual([expect.stringMatching(/\S/)])
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
