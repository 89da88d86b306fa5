/** The built program on a terminal: the tree, the answer, and questions that are answered by keys. Needs python3. */
import { spawn } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, type Script, startLlm } from "./support/llm.ts"
import { hasPython, shown } from "./support/terminal.ts"

vi.setConfig({ testTimeout: 60_000 })

if (!hasPython) console.warn("cliTerminal.full.test.ts is skipped: python3, whose pty module it needs, is not there.")

interface Key {
  readonly after: string
  readonly send: string
}

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  /** Runs the program on a terminal; returns the output and the exit code. */
  const run = (
    args: ReadonlyArray<string>,
    keys: ReadonlyArray<Key> = [],
    env: Readonly<Record<string, string>> = {},
    piped?: string,
    ends: { readonly hangup?: string; readonly closes?: string } = {}
  ) =>
    new Promise<{ readonly code: number | null; readonly printed: string; readonly plain: string }>((resolve) => {
      const driver = fileURLToPath(new URL("support/terminal.py", import.meta.url))
      const command = [process.execPath, program, "run", "-m", "openai/m", "--title", "t", ...args]
      const argv = piped === undefined ? command : ["sh", "-c", "printf %s \"$0\" | \"$@\"", piped, ...command]
      const child = spawn("python3", [driver, JSON.stringify({ argv, columns: 80, rows: 24, keys, ...ends })], {
        cwd: place.project,
        env: place.env({ TERM: "xterm-256color", ...env })
      })
      let printed = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => printed += text)
      child.once("close", (code) =>
        // oxlint-disable-next-line no-control-regex -- what a terminal obeys begins with ESC
        resolve({ code, printed, plain: printed.replace(/\u001b\[[\d;?]*[A-Za-z]/g, "") }))
    })
  return { place, run }
}

const writes = ({ messages }: LlmRequest): LlmAnswer | string =>
  messages.at(-1)?.role === "tool"
    ? `model got: ${String(messages.at(-1)?.content)}`
    : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "first \u001b[31mline\nlast line  " } }] }

describe.skipIf(!hasPython)("on a terminal (needs python3)", () => {
  it("streams the answer, draws the tree, and leaves a summary", async () => {
    const { run } = await world((request) => {
      if (request.user[0] === "child") {
        return request.messages.at(-1)?.role === "tool"
          ? "found"
          : { calls: [{ tool: "list", args: { path: ".." } }] }
      }
      return request.messages.at(-1)?.role === "tool"
        ? "All \u001b[2J done.\nSecond line."
        : { calls: [{ tool: "task", args: { description: "Look around", prompt: "child", subagent_type: "explore" } }] }
    })
    // While the question is open, the tree with the child is on the screen.
    const { code, plain, printed } = await run(["go"], [{ after: "Enter confirms", send: "1\r" }])
    expect(code).toBe(0)
    expect(plain).toContain("● build  t")
    expect(plain).toContain("explore  Look around")
    expect(plain).toContain("All \\x1b[2J done.\r\nSecond line.\r\n")
    expect(printed).not.toContain("\u001b[2J")
    expect(plain).toMatch(
      /completed · [\d.]+ s · 4 steps · 440 tokens · unpriced · 1 task \(1 completed\)\r\nsession (ses_\w+), continue with: skein run -s \1 "…"\r\n$/
    )
    // The cursor is restored at the end.
    expect(printed.lastIndexOf("\u001b[?25h")).toBeGreaterThan(printed.lastIndexOf("\u001b[?25l"))
  })

  it("prints an answer of text, reasoning and text once, as it was streamed", async () => {
    const { run } = await world(() => ({
      deltas: [{ content: "First half.\n" }, { reasoning_content: "hm" }],
      text: "Second half."
    }))
    const { code, printed } = await run(["go"])
    expect(code).toBe(0)
    const screen = await shown(printed)
    expect(screen.match(/First half\./g)).toHaveLength(1)
    expect(screen).toMatch(/First half\.\n\n∴ thought for .*: hm\n\nSecond half\.\n/)
  })

  it("shows what the agent does: its model, its calls and their results, changes, todos, and a summary", async () => {
    const steps: ReadonlyArray<LlmAnswer | string> = [
      {
        text: "I look first.",
        calls: [{
          tool: "todowrite",
          args: { todos: [{ content: "Fix it", status: "in_progress", priority: "high" }] }
        }]
      },
      { calls: [{ tool: "read", args: { filePath: "a.txt" } }] },
      {
        text: "Now the edit.",
        calls: [{ tool: "edit", args: { filePath: "a.txt", oldString: "two", newString: "2\u001b[2J\n2.5" } }]
      },
      { calls: [{ tool: "bash", args: { command: "seq 1 9; exit 3", description: "Counts" } }] },
      "Done."
    ]
    const { place, run } = await world(({ messages }) =>
      steps[messages.filter(({ role }) => role === "tool").length] ?? ""
    )
    writeFileSync(join(place.project, "a.txt"), "one\ntwo\nthree\n")
    const { code, printed } = await run(["--auto", "go"], [], { NO_COLOR: "1" })
    expect(code).toBe(0)
    const kept = [
      "build · openai/m",
      "",
      "I look first.",
      "",
      "• todowrite  1 of 1 todos open",
      "    [>] Fix it",
      "• read a.txt  3 lines",
      "",
      "Now the edit.",
      "",
      "• edit a.txt  +2 -1",
      "        1  one",
      "        2 -two",
      "        2 +2\\x1b[2J",
      "        3 +2.5",
      "        4  three",
      "✗ bash seq 1 9; exit 3  exit code 3",
      "    … 4 lines before"
    ]
    // What stays, not what was printed: the lines of the live region are drawn again and again, and then erased.
    const screen = await shown(printed)
    let at = 0
    for (const line of kept.filter((each) => each !== "")) {
      const found = screen.indexOf(line, at)
      expect(found, line).toBeGreaterThanOrEqual(at)
      at = found + line.length
    }
    // The last line is longer than the terminal is wide.
    expect(screen.slice(at).replaceAll("\n", "")).toMatch(
      /Done\.completed · [\d.]+ s · 5 steps · 550 tokens · unpricedchanged: a\.txtsession (ses_\w+), continue with: skein run -s \1 "…"$/
    )
    expect(printed).not.toContain("\u001b[2J")
  })

  it("asks in place, shows exactly what would be done, and continues when it is allowed", async () => {
    const { place, run } = await world(writes)
    const { code, plain } = await run(["go"], [{ after: "Enter confirms", send: "1\r" }])
    expect(plain).toContain("? build asks for permission: edit")
    expect(plain).toContain("▌ new.txt")
    expect(plain).toContain("+first \\x1b[31mline")
    expect(plain).toContain("+last line\\x20\\x20")
    expect(code).toBe(0)
    expect(existsSync(join(place.project, "new.txt"))).toBe(true)
  })

  it("asks an agent's question, and returns the answer", async () => {
    const { run } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? `model got: ${String(messages.at(-1)?.content)}`
        : {
          calls: [
            { tool: "question", args: { question: "Which one?", options: [{ label: "red" }, { label: "blue" }] } },
            { tool: "question", args: { question: "And why?" } }
          ]
        }
    )
    const { code, plain } = await run(["go"], [
      { after: "Enter confirms", send: "\u001b[B\u001b[B\r" },
      { after: "And why?", send: "" },
      { after: "Enter confirms", send: "1\r" },
      { after: "answer: ", send: "for the sky\r" }
    ])
    expect(code).toBe(0)
    // Whether a line is drawn alone or with all others depends on when its event comes.
    expect(plain.replaceAll(/\r+\n/g, "\n")).toContain("  Which one?\n  1 red\n  2 blue\n  3 Write an answer\n")
    expect(plain).toContain("→ blue")
    expect(plain).toContain("model got: The user answers: for the sky")
  })

  it("ignores letters, input that was typed before the question was readable, and pasted text", async () => {
    const { place, run } = await world(writes)
    const { code, plain } = await run(["go"], [
      { after: "? build asks for permission", send: "1\r" },
      { after: "Enter confirms", send: "also look at util" },
      { after: "Enter confirms", send: "please wait" },
      { after: "Enter confirms", send: "not like that\r" },
      { after: "Enter confirms", send: "stop, this is bad" },
      { after: "Enter confirms", send: "\u001b[200~1\r\u001b[201~" },
      { after: "Enter confirms", send: `${"a long paste\r1\r".repeat(200)}` },
      { after: "Enter confirms", send: "4\r" }
    ])
    expect(code).toBe(3)
    expect(plain).toContain("? build: edit new.txt\r\n  → no\r\n")
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
    expect(JSON.parse((await place.run(["permissions", "--format", "json"])).stdout)).toEqual([])
  })

  it("passes a reason for a no to the model, and exits with 3", async () => {
    const { place, run } = await world(writes)
    const { code, plain } = await run(["go"], [
      { after: "Enter confirms", send: "5\r" },
      { after: "because:", send: "not thew\u007f today\r" }
    ])
    expect(plain).toContain("The user says: not the today")
    expect(code).toBe(3)
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("a no without a reason ends the turn with 3", async () => {
    const { run } = await world(writes)
    const { code, plain } = await run(["go"], [{ after: "Enter confirms", send: "4\r" }])
    expect(code).toBe(3)
    expect(plain).toContain("skein: You said no to 1 call, so the turn ended. Continue with: skein run -s ses_")
    expect(plain).not.toContain("Run it on a terminal")
  })

  it("moves the subagents to the background at a key, and waits for them at the end", async () => {
    let goOn = () => {}
    const wentOn = new Promise<void>((resolve) => goOn = resolve)
    const { run } = await world(async (request) => {
      if (request.user.includes("child")) {
        await wentOn
        return "the child's result"
      }
      const news = request.user.find((text) => text.includes("<task-notification"))
      if (news !== undefined) return `In the end: ${/Result:\n(.*)/.exec(news)?.[1]}`
      if (request.messages.at(-1)?.role === "tool") goOn()
      return request.messages.at(-1)?.role === "tool"
        ? `Meanwhile: ${String(request.messages.at(-1)?.content).split("\n", 1)[0]}`
        : { calls: [{ tool: "task", args: { description: "Look around", prompt: "child", subagent_type: "general" } }] }
    })
    const { code, plain } = await run(["go"], [
      // Prose does not move anything.
      { after: "Ctrl+B moves the subagents", send: "be brief\r" },
      // The clock of the tree continues.
      { after: " s", send: "\u0002" }
    ])
    expect(code).toBe(0)
    expect(plain).toContain("Meanwhile: Background task accepted: Look around")
    expect(plain).toContain("In the end: the child's result")
  })

  it("always in this project is stored, listed, and can be revoked", async () => {
    const { place, run } = await world(writes)
    expect((await run(["go"], [{ after: "Enter confirms", send: "3\r" }])).code).toBe(0)
    expect((await run(["go again"])).code).toBe(0)
    const listed: ReadonlyArray<{ readonly id: string }> = JSON.parse(
      (await place.run(["permissions", "--format", "json"])).stdout
    )
    expect(listed).toMatchObject([{ permission: "edit", pattern: "new.txt" }])
    expect(await place.run(["permissions", "revoke", listed[0]?.id ?? ""])).toMatchObject({
      code: 0,
      stderr: `Revoked: ${listed[0]?.id}\n`
    })
    expect(JSON.parse((await place.run(["permissions", "--format", "json"])).stdout)).toEqual([])
  })

  it("always in this session is stored and listed, and ends for a running process when another one revokes it", async () => {
    const listed: Array<ReadonlyArray<{ readonly id: string; readonly rootID?: string }>> = []
    const sandboxed: { place?: Awaited<ReturnType<typeof world>>["place"] } = {}
    const list = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await sandboxed.place?.run(["permissions", ...args, "--format", "json"]))?.stdout ?? "null")
    const { place, run } = await world(async ({ messages, user }) => {
      const results = messages.filter(({ role }) => role === "tool")
      if (user.at(-1) === "again") {
        return messages.at(-1)?.role === "user"
          ? { calls: [{ tool: "write", args: { filePath: "out/d.txt", content: "" } }] }
          : "refused"
      }
      if (results.length === 2) {
        listed.push(await list())
        await place.run(["permissions", "revoke", listed[0]?.[0]?.id ?? ""])
      }
      const filePath = ["out/a.txt", "out/b.txt", "out/c.txt"][results.length]
      return filePath === undefined ? "Done." : { calls: [{ tool: "write", args: { filePath, content: "" } }] }
    })
    sandboxed.place = place
    const { code, plain } = await run(["go"], [
      { after: "Enter confirms", send: "2\r" },
      { after: "▌ out/c.txt", send: "" },
      {
        after: "Enter confirms",
        send: "1\r"
      }
    ])
    expect([code, plain.match(/\? build: edit/g)?.length]).toEqual([0, 2])
    expect(plain).toContain("2 Yes, always in this session tree: edit out/**")
    const [{ id = "", rootID = "" } = {}] = listed[0] ?? []
    expect(listed).toMatchObject([[{ permission: "edit", pattern: "out/**", rootID: expect.stringMatching(/^ses_/) }]])
    expect(id).toMatch(/^per_/)
    expect(await list()).toEqual([])
    expect(
      (await run(["-s", rootID, "again"], [{ after: "▌ out/d.txt", send: "" }, {
        after: "Enter confirms",
        send: "4\r"
      }]))
        .code
    )
      .toBe(3)
  })

  it("asks the person at the terminal, even if standard input is a pipe", async () => {
    const { place, run } = await world(writes)
    const { code } = await run(["go"], [{ after: "Enter confirms", send: "1\r" }], {}, "more of the prompt")
    expect(code).toBe(0)
    expect(existsSync(join(place.project, "new.txt"))).toBe(true)
  })

  it("denies what it asks when its keyboard is gone, and the agent continues", async () => {
    const { place, run } = await world(writes)
    const { code, printed } = await run(["go"], [], {}, undefined, { hangup: "? build asks for permission" })
    expect(code).toBe(3)
    // Answers are wrapped at words.
    expect((await shown(printed)).replace(/\s+/g, " "))
      .toContain("The user says: Nobody can be asked: the terminal is closed.")
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("ends with 129 when its terminal is closed", async () => {
    const { place, run } = await world(writes)
    expect((await run(["go"], [], {}, undefined, { closes: "? build asks for permission" })).code).toBe(129)
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("Ctrl-C stops the run, although keys send no signals while the tree is drawn", async () => {
    const { run } = await world(() => ({ text: "I begin", hangs: true }))
    const { code, plain } = await run(["go"], [{ after: "I begin", send: "\u0003" }])
    expect(code).toBe(130)
    expect(plain).toMatch(
      /skein: Stopped by Ctrl-C\. Continue with `skein sessions resume ses_\w+`\. It asks the agent to continue; stopped tasks stay stopped\.\r\n$/
    )
  })

  it("NO_COLOR has no colours, and a dumb terminal gets plain lines", async () => {
    const { run } = await world(() => "done")
    // oxlint-disable-next-line no-control-regex -- colours begin with ESC
    expect((await run(["go"], [], { NO_COLOR: "1" })).printed).not.toMatch(/\u001b\[\d+m/)
    expect((await run(["go"], [], { TERM: "dumb" })).printed).toBe("done\r\n")
  })
})

it.skipIf(!hasPython)("a file that was allowed contains what was shown (needs python3)", async () => {
  const { place, run } = await world(writes)
  await run(["go"], [{ after: "Enter confirms", send: "2\r" }])
  expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("first \u001b[31mline\nlast line  ")
})
