/** The built program's session at a terminal: what is typed, and what is to be seen. Needs python3. */
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type Script, startLlm } from "./support/llm.ts"
import { hasPython, onTerminal, shown, type TypedKey } from "./support/terminal.ts"

if (!hasPython) console.warn("cliSession.full.test.ts is skipped: python3, whose pty module it needs, is not there.")

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const open = (
    keys: ReadonlyArray<TypedKey>,
    args: ReadonlyArray<string> = [],
    more: { readonly env?: Readonly<Record<string, string>>; readonly closes?: string } = {}
  ) =>
    onTerminal([process.execPath, program, "-m", "openai/m", ...args], {
      cwd: place.project,
      env: place.env({ TERM: "xterm-256color", NO_COLOR: "1", ...more.env }),
      keys,
      ...(more.closes === undefined ? {} : { closes: more.closes })
    })
  return { place, open }
}

const count = (text: string, part: string): number => text.split(part).length - 1

/** Ends once a file is there. */
const appears = (file: string): Promise<void> =>
  new Promise((resolve) => {
    const look = () => {
      if (!existsSync(file)) return
      watcher.close()
      resolve()
    }
    const watcher = watch(dirname(file), look)
    // It may be there already.
    look()
  })

const ready = "Write a prompt"

/** What is written when a full-screen view is left. */
const leftFull = "\u001b[?1049l"

describe.skipIf(!hasPython)("a session at a terminal (needs python3)", () => {
  it("holds the limits of its flags, with a command, a title and files for the first prompt", async () => {
    const received: Array<string> = []
    const { open, place } = await world(({ maxTokens, tools, user }) => {
      received.push(user.join("\n"))
      // A title is not limited, and has no tools.
      return tools.length === 0 ? "A title" : { text: `At most ${maxTokens} tokens.` }
    })
    writeFileSync(join(place.project, "notes.txt"), "the notes of the user")
    const limits = ["--budget-tokens", "60000", "--timeout", "20m", "--title", "Bounded", "-f", "notes.txt"]
    const { code, printed } = await open([
      { after: "Attached to your first prompt: notes.txt", send: "" },
      { after: "At most", send: "" },
      { after: "› Write", send: "/quit\r" }
    ], [...limits, "question"])
    expect(code, await shown(printed)).toBe(0)
    expect(received.some((text) => text.includes("question") && text.includes("the notes of the user"))).toBe(true)
    const listed = await place.run(["sessions", "--format", "json"])
    const [stored] = JSON.parse(listed.stdout) as ReadonlyArray<
      { readonly id: string; readonly title: string; readonly budget?: { readonly limit: unknown } }
    >
    expect(stored).toMatchObject({ title: "Bounded", budget: { limit: { tokens: 60_000, time: 1_200_000 } } })
    const again = await open([
      { after: "At most", send: "" },
      { after: "budget", send: "/quit\r" }
    ], ["--session", stored?.id ?? "", "--budget-tokens", "500", "one more question"])
    expect(await shown(again.printed)).toMatch(/budget of 500 tokens/i)
  })

  it("limits steps and subagents as a run does", async () => {
    const { open } = await world(({ last, tools }) =>
      last.includes("maximum steps") || tools.length === 0
        ? "Concluded early."
        : { calls: [{ tool: "list", args: { path: "." } }] }
    )
    const { printed } = await open([
      { after: "Concluded early.", send: "" },
      { after: "› Write", send: "/quit\r" }
    ], ["--max-steps", "2", "--concurrency", "1", "--max-tasks", "1", "work"])
    expect(await shown(printed)).toContain("Concluded early.")
  })

  it("talks over several turns, renders Markdown, prints each line once, and is continued by its id", async () => {
    const { open } = await world(({ user }) =>
      `# Answer ${user.length}\n\n- **one** thing\n- \`two\` things\n\nEnd ${user.length}.`
    )
    const { code, printed } = await open([
      { after: ready, send: "first question\r" },
      { after: "End 1.", send: "" },
      { after: "› Write", send: "second\u001b\rquestion\r" },
      { after: "End 2.", send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
    const text = await shown(printed)
    for (const line of ["› first question", "› second\n  question", "Answer 1", "• one thing", "End 1.", "End 2."]) {
      expect(text).toContain(line)
    }
    for (const line of ["End 1.", "End 2.", "› first question"]) expect(count(text, line)).toBe(1)
    expect(text).not.toContain("**")
    const [, id = ""] = /continue with: skein --session (ses_\w+)/.exec(text) ?? []
    const again = await open([
      { after: "End 2.", send: "" },
      { after: "› Write", send: "third\r" },
      { after: "End 3.", send: "/quit\r" }
    ], ["--session", id])
    expect(again.code).toBe(0)
    const restored = await shown(again.printed)
    expect(restored).toContain("› first question")
    expect(restored).toContain("End 3.")
  })

  it("never obeys what a model writes", async () => {
    const { open } = await world(() => "before \u001b[2J\u001b]0;owned\u0007 after")
    const { printed } = await open([
      { after: ready, send: "go\r" },
      { after: "after", send: "/quit\r" }
    ])
    expect(printed).not.toContain("\u001b[2J")
    expect(printed).not.toContain("\u001b]0;")
    expect(await shown(printed)).toContain("before \\x1b[2J\\x1b]0;owned\\x07 after")
  })

  const writes: Script = ({ messages }): LlmAnswer | string =>
    messages.at(-1)?.role === "tool"
      ? `model heard: ${String(messages.at(-1)?.content)}`
      : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "text" } }] }

  it("is asked, answers with an arrow and Enter, and never with a letter", async () => {
    const { open, place } = await world(writes)
    const { code, printed } = await open([
      { after: ready, send: "go\r" },
      // What is typed when a question appears stays in the input, and Enter sends it.
      { after: "asks for permission", send: "yes" },
      { after: "Tab goes to the question", send: "\u0003" },
      { after: "Enter confirms", send: "\u001b[B" },
      { after: "❯ 1", send: "\r" },
      { after: "model heard", send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
    expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("text")
    expect(await shown(printed)).toContain("? build: edit new.txt\n  → once")
  })

  it("shows what is logged as lines of the session, and not across the input", async () => {
    const { place } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "It ran."
        : { calls: [{ tool: "bash", args: { command: "pwd", description: "shows it" } }] }
    )
    const programs = join(place.home, "programs")
    mkdirSync(programs)
    symlinkSync("/bin/bash", join(programs, "bash"))
    // The program finds no bubblewrap.
    const argv = ["/usr/bin/env", `PATH=${programs}`, process.execPath, program, "-m", "openai/m"]
    const { printed } = await onTerminal(argv, {
      cwd: place.project,
      env: place.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
      keys: [{ after: ready, send: "go\r" }, { after: "It ran.", send: "/quit\r" }]
    })
    const text = await shown(printed)
    expect(text).toMatch(/^skein: There is no sandbox for commands/m)
    expect(text).toMatch(/You see this once on this machine\.$/m)
    expect(count(text, "There is no sandbox")).toBe(1)
  })

  it("a reason for a no reaches the model", async () => {
    const { open, place } = await world(writes)
    const { printed } = await open([
      { after: ready, send: "go\r" },
      { after: "Enter confirms", send: "5\r" },
      { after: "because:", send: "not there\r" },
      { after: "model heard", send: "/quit\r" }
    ])
    expect(await shown(printed)).toContain("The user says: not there")
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("steers with Enter, and queues with Tab", async () => {
    const files: { project?: string } = {}
    const heard: Array<string> = []
    const { open, place } = await world(async ({ last, user }) => {
      heard.push(last)
      const [words = ""] = (user.at(-1) ?? "").split("\n")
      if (words !== "begin") return `answer to ${words}`
      await appears(join(files.project ?? "", "go"))
      return { calls: [{ tool: "list", args: { path: "." } }] }
    })
    files.project = place.project
    const { code, printed } = await open([
      { after: ready, send: "begin\r" },
      { after: "thinks", send: "steer\r" },
      { after: "read at the next step (Up edits it): steer", send: "later\t" },
      { after: "sent after the turn (Up edits it): later", send: "\u001b[A" },
      { after: "› later", send: "\u0015!touch go\r" },
      { after: "exit code 0", send: "then\t" },
      { after: "answer to steer", send: "" },
      { after: "answer to then", send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
    const text = await shown(printed)
    expect(text.indexOf("› steer")).toBeGreaterThan(text.indexOf("• list ."))
    expect(text.indexOf("› then")).toBeGreaterThan(text.indexOf("answer to steer"))
    // The model reads what the command of the person's own has written.
    expect(heard.at(-1)).toContain("The user ran `touch go` (exit code 0)")
    expect(text).not.toContain("The user ran")
  })

  it("keeps what was queued when its terminal is closed, and sends it after the next prompt", async () => {
    let isOver = false
    const { open } = await world(({ user }) =>
      // The prompt that got no answer may stand before the next one in one message.
      isOver
        ? `answer to ${user.at(-1)?.includes("later") === true ? "later" : "next"}`
        : new Promise<never>(() => undefined)
    )
    const closed = await open(
      [
        { after: ready, send: "begin\r" },
        { after: "thinks", send: "later\t" }
      ],
      [],
      { closes: "sent after the turn (Up edits it): later" }
    )
    expect(closed.code).toBe(129)
    isOver = true
    const { code, printed } = await open([
      { after: "follows your next prompt (Up edits it): later", send: "next\r" },
      { after: "answer to next", send: "" },
      { after: "answer to later", send: "/quit\r" }
    ], ["--continue"])
    expect(code, await shown(printed)).toBe(0)
  })

  it("interrupts the turn with Esc, and keeps the session", async () => {
    const { open } = await world(() => new Promise<never>(() => undefined))
    const { code, printed } = await open([
      { after: ready, send: "hang\r" },
      { after: "thinks", send: "\u001b" },
      { after: "Interrupted", send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
  })

  it("says which command and which file it does not know, and sends nothing", async () => {
    const asked: Array<string> = []
    const { open } = await world(({ user }) => {
      asked.push(...user)
      return "hello"
    })
    const { printed } = await open([
      { after: ready, send: "/moddel x\r" },
      { after: "Did you mean /model?", send: "\u0003" },
      { after: ready, send: "see @nothing.txt please\r" },
      { after: "@nothing.txt is neither a file here nor a subagent.", send: "" },
      { after: "Nothing was sent.", send: "\u0003" },
      { after: ready, send: "/quit\r" }
    ])
    expect(asked).toEqual([])
    expect(printed).not.toContain("hello")
  })

  it("gives the terminal back before a signal suspends it, and takes it again", async () => {
    const { open } = await world(() => "hello")
    const { printed } = await open([
      { after: ready, send: "!kill -TSTP $PPID\r" },
      { after: "\u001b[?1004l\u001b[?2004l", send: "" },
      // No shell could continue it here, so the system does not suspend it.
      { after: "\u001b[?2004h\u001b[?1004h", send: "hi\r" },
      { after: "hello", send: "/quit\r" }
    ])
    expect(await shown(printed)).toContain("hello")
  })

  it("refuses a model that does not exist, and keeps the one that answers", async () => {
    const { open } = await world(({ last }) => `heard ${last}`)
    const { printed } = await open([
      { after: ready, send: "/model nonsense\r" },
      { after: "nonsense names no model: write PROVIDER/MODEL", send: "/model nonsense/x\r" },
      { after: "There is no provider nonsense", send: "still here\r" },
      { after: "heard still here", send: "/quit\r" }
    ])
    const text = await shown(printed)
    expect(text).toContain("heard still here")
    expect(text).not.toContain("from the next prompt on")
  })

  it("goes back to before a prompt, and restores what tools changed since", async () => {
    const { open, place } = await world(writes)
    const { code, printed } = await open([
      { after: ready, send: "go\r" },
      { after: "Enter confirms", send: "1\r" },
      { after: "model heard", send: "/rewind\r" },
      { after: "Go back to before a prompt", send: "\r" },
      { after: "Tools changed one file", send: "2\r" },
      { after: "Deleted new.txt", send: "\u0003" },
      { after: ready, send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("leaves the terminal to the editor that Ctrl+G opens, and takes what it wrote", async () => {
    const { open, place } = await world(() => "The end.")
    const editor = join(place.home, "editor.sh")
    writeFileSync(editor, "#!/bin/sh\nprintf 'EDITOR HERE'\nread line\nprintf ' %s' \"$line\" >> \"$1\"\n", {
      mode: 0o755
    })
    const { code, printed } = await open(
      [
        { after: ready, send: "draft" },
        { after: "› draft", send: "\u0007" },
        { after: "EDITOR HERE", send: "typed there\r" },
        { after: "› draft typed there", send: "\r" },
        { after: "The end.", send: "/quit\r" }
      ],
      [],
      { env: { EDITOR: editor } }
    )
    expect(code, await shown(printed)).toBe(0)
    const [edited = ""] = (printed.split("EDITOR HERE")[1] ?? "").split("\u001b[?2004h")
    expect(edited.trim()).toBe("typed there")
  })

  it("puts back the prompt as it was typed, and tells what commands wrote with the next one again", async () => {
    const heard: Array<string> = []
    const { open } = await world(({ last }) => {
      heard.push(last)
      return `answer ${heard.length}`
    })
    const { code, printed } = await open([
      { after: ready, send: "!echo written\r" },
      { after: "exit code 0", send: "typed words\r" },
      { after: "answer 1", send: "/rewind\r" },
      { after: "Go back to before a prompt", send: "\r" },
      { after: "Back to before: typed words", send: "" },
      { after: "› typed words", send: " again\r" },
      { after: "answer 2", send: "/quit\r" }
    ])
    expect(code, await shown(printed)).toBe(0)
    const output = "The user ran `echo written` (exit code 0):\nwritten\n"
    expect(heard).toEqual([`typed words\n${output}`, `typed words again\n${output}`])
    expect(await shown(printed)).not.toContain("The user ran")
  })

  it("lists hooks and MCP servers", async () => {
    const { open, place } = await world(() => "The end.")
    const configuration = join(place.home, "config", "skein")
    mkdirSync(configuration, { recursive: true })
    writeFileSync(
      join(configuration, "skein.json"),
      JSON.stringify({ hooks: { PreToolUse: [{ matcher: "bash", command: "true" }] }, mcp: {} })
    )
    const { printed } = await open([
      { after: ready, send: "/hooks\r" },
      { after: "Esc closes", send: "q" },
      { after: leftFull, send: "/mcp\r" },
      { after: "There are no MCP servers", send: "q" },
      { after: leftFull, send: "/quit\r" }
    ])
    expect(printed).toContain("PreToolUse")
  })

  it("says which servers of models listen where there is no key", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const place = sandbox()
    atEnd(place.remove, () => server.close())
    const { port } = server.address() as AddressInfo
    const { code, printed } = await onTerminal([process.execPath, program], {
      cwd: place.project,
      env: place.env({ TERM: "xterm", NO_COLOR: "1", OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` }),
      keys: [{ after: "ollama listens on this machine", send: "" }, { after: ready, send: "/quit\r" }]
    })
    expect(code, printed).toBe(0)
    expect(await shown(printed)).toContain("No key of a model is set")
  })

  it("asks once which model answers where only keys choose, and keeps that", async () => {
    const { place } = await world(({ model }) => `I am ${model}.`)
    const open = (keys: ReadonlyArray<TypedKey>) =>
      onTerminal([process.execPath, program], {
        cwd: place.project,
        env: place.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
        keys
      })
    const first = await open([
      { after: "Which model answers", send: "mini" },
      { after: "filter: mini", send: "\r" },
      { after: "\"model\" in", send: "who\r" },
      { after: "I am ", send: "/quit\r" }
    ])
    expect(first.code, await shown(first.printed)).toBe(0)
    const { model } = JSON.parse(readFileSync(join(place.home, "config", "skein", "skein.json"), "utf8"))
    expect(model).toMatch(/^openai\/.*mini/)
    expect(await shown(first.printed)).toContain(`I am ${model.replace("openai/", "")}.`)
    rmSync(join(place.home, "config"), { recursive: true })
    rmSync(join(place.home, "data", "skein", "history"), { recursive: true })
    const second = await open([{ after: "because its key is set", send: "/quit\r" }])
    expect(await shown(second.printed)).not.toContain("Which model answers")
  })

  it("has darker colours on a light background", async () => {
    const white = "\u001b]11;rgb:ffff/ffff/ffff\u001b\\\u001b[?62c"
    const { open } = await world(() => "# A heading")
    const { printed } = await open(
      [
        { after: "\u001b]11;?", send: white },
        { after: ready, send: "go\r" },
        { after: "A heading", send: "/quit\r" }
      ],
      [],
      { env: { NO_COLOR: "" } }
    )
    expect(printed).toContain("\u001b[38;5;23mA heading")
    expect(printed).not.toContain("[?62c")
  })

  it("goes round the modes with Shift+Tab, and completes commands and files", async () => {
    const { open, place } = await world(({ user }) => `heard: ${user.at(-1)}`)
    writeFileSync(join(place.project, "readme.txt"), "the content")
    const { printed } = await open([
      { after: ready, send: "\u001b[Z" },
      { after: "edits", send: "\u001b[Z" },
      { after: "plan", send: "\u001b[Z" },
      { after: "ask", send: "look at @readm" },
      { after: "readme.txt", send: "\t" },
      { after: "@readme.txt", send: "\r" },
      { after: "heard: look at @readme.txt", send: "" },
      { after: "› Write", send: "/qu" },
      { after: "Ends the program", send: "\r" }
    ])
    expect(await shown(printed)).toContain("continue with: skein --session")
  })

  it("stays in the mode plan that is shown, also when an agent was chosen before", async () => {
    const { open, place } = await world(() => "The end.")
    const { printed } = await open([
      { after: "ask · build", send: "/agent build\r" },
      { after: "Agent from the next prompt on: build", send: "/mode plan\r" },
      { after: "plan · ", send: "go\r" },
      { after: "The end.", send: "/quit\r" }
    ])
    expect(await shown(printed)).toContain("continue with: skein --session")
    const { stdout } = await place.run(["sessions", "--format", "json"])
    expect(JSON.parse(stdout)).toMatchObject([{ agent: "plan", mode: "plan" }])
  })

  it("shows what was chosen for the next prompt until it is sent, and lists in columns", async () => {
    const { open } = await world(() => "The end.")
    const { printed } = await open(
      [
        { after: ready, send: "first\r" },
        { after: "The end.", send: "/agent coordinator\r" },
        { after: "ask · coordinator", send: "\u001b[Z" },
        { after: "edits · coordinator", send: "/agents\r" }
      ],
      [],
      { closes: "Esc closes" }
    )
    expect(printed).toContain("coordinator      primary")
    expect(printed).not.toContain("\t")
  })

  it("keeps a prompt that it could not send, and is left with Ctrl+C twice, while another process works in the session", async () => {
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => asked = resolve)
    let answer = () => {}
    const { open } = await world(async ({ last }) => {
      if (last === "work") {
        return { calls: [{ tool: "task", args: { description: "Part", prompt: "part", subagent_type: "general" } }] }
      }
      if (last !== "part") return "Worked."
      asked()
      await new Promise<void>((resolve) => answer = resolve)
      return "Done."
    })
    const first = open([{ after: ready, send: "work\r" }, { after: "Worked.", send: "/quit\r" }])
    await isAsked
    const second = await open([
      { after: "› work", send: "kept\r" },
      { after: "Another process works in the session", send: "" },
      { after: "› kept", send: "\u0003" },
      { after: "› Write", send: "\u0003" },
      { after: "Press Ctrl+C again to quit", send: "\u0003" }
    ], ["--continue"])
    answer()
    expect((await first).code).toBe(0)
    expect(second.code).toBe(0)
  })

  it("changes the mode with each Shift+Tab, and sends the next prompt in the last of them", async () => {
    const { open, place } = await world(({ user }) => `heard: ${user.at(-1)}`)
    await open([
      { after: ready, send: "one\r" },
      { after: "heard: one", send: "\u001b[Z\u001b[Ztwo\r" },
      { after: "heard: two", send: "/quit\r" }
    ])
    const { stdout } = await place.run(["sessions", "--format", "json"])
    expect(JSON.parse(stdout)).toMatchObject([{ agent: "plan", mode: "plan" }])
  })

  it("ends with 129 where the terminal is closed", async () => {
    const { open } = await world(() => new Promise<never>(() => undefined))
    const { code } = await open([{ after: ready, send: "go\r" }], [], { closes: "thinks" })
    expect(code).toBe(129)
  })
})
