/** The built program's session in tmux: a conversation as people have it, and what terminals do to programs. Needs tmux. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type Script, startLlm } from "./support/llm.ts"
import { hasPython, onTerminal, shown } from "./support/terminal.ts"
import { hasTmux, Tmux } from "./support/tmux.ts"

if (!hasTmux) console.warn("cliTmux.full.test.ts is skipped: tmux is not there.")
const hasScreen = spawnSync("screen", ["-v"]).stdout?.toString().includes("Screen") === true

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const env = place.env({ TERM: "screen-256color", NO_COLOR: "1", LANG: "C.UTF-8" })
  const open = (args: ReadonlyArray<string> = [], size: { readonly columns?: number; readonly rows?: number } = {}) => {
    const tmux = new Tmux([process.execPath, program, "-m", "openai/m", ...args], { cwd: place.project, env, ...size })
    atEnd(() => tmux.close())
    return tmux
  }
  return { place, llm, open, env }
}

const count = (text: string, part: string): number => text.split(part).length - 1

/** Leaves the session: what it writes must be there before its place is removed. */
const quit = (tmux: Tmux): Promise<void> => {
  tmux.type("/quit")
  tmux.press("Enter")
  return tmux.ended
}

const empty = "› Write a prompt"

/** Something that waits until the test opens it. */
const gate = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { opened, open: () => open() }
}

describe.skipIf(!hasTmux)("a session in tmux (needs tmux)", () => {
  it("is a conversation of ten turns, with steering, queueing, a question from two levels below, going back and resuming", async () => {
    const held = gate()
    const delegate = (prompt: string, agent: string): LlmAnswer => ({
      calls: [{ tool: "task", args: { description: prompt, prompt, subagent_type: agent } }]
    })
    const { open, place } = await world(async ({ messages, user }) => {
      // Prompts without an answer between them are sent as one.
      const said = user.at(-1)?.split("\n").at(-1) ?? ""
      if (messages.at(-1)?.role === "tool") return `done: ${said}`
      if (said === "delegate") return delegate("level one", "lead")
      if (said === "level one") return delegate("level two", "general")
      if (said === "level two") return { calls: [{ tool: "write", args: { filePath: "deep.txt", content: "deep" } }] }
      if (said === "hold") {
        await held.opened
        return { calls: [{ tool: "list", args: { path: "." } }] }
      }
      if (said === "hang") return new Promise<never>(() => undefined)
      return `answer to ${said}.`
    })
    const agents = join(place.home, "config", "skein", "agent")
    mkdirSync(agents, { recursive: true })
    writeFileSync(
      join(agents, "lead.md"),
      "---\ndescription: Leads\nmode: subagent\npermission:\n  task: allow\n---\nLead.\n"
    )
    const tmux = open()
    const say = (text: string) => {
      tmux.type(text)
      tmux.press("Enter")
    }
    await tmux.shows(empty)
    for (const turn of [1, 2, 3]) {
      say(`turn ${turn}`)
      await tmux.shows(`answer to turn ${turn}.`)
    }
    // Enter steers, Tab queues.
    say("hold")
    await tmux.shows("thinks")
    say("steer")
    await tmux.shows(": steer")
    tmux.type("queued")
    tmux.press("Tab")
    await tmux.shows(": queued")
    held.open()
    await tmux.shows("answer to queued.")
    // What is typed through the appearance of a question answers nothing.
    say("delegate")
    tmux.type("1")
    const asked = await tmux.shows("asks for permission")
    expect(asked).toContain("build > lead > general")
    await tmux.shows("The input holds text")
    expect(existsSync(join(place.project, "deep.txt"))).toBe(false)
    tmux.press("C-u")
    await tmux.shows("Enter confirms")
    tmux.press("Down")
    await tmux.shows("❯ 1")
    tmux.press("Enter")
    await tmux.shows("done: delegate")
    expect(readFileSync(join(place.project, "deep.txt"), "utf8")).toBe("deep")
    // Esc interrupts, and keeps the session.
    say("hang")
    await tmux.shows("thinks")
    tmux.press("Escape")
    await tmux.shows("Interrupted. What next?")
    for (const turn of [8, 9, 10]) {
      say(`turn ${turn}`)
      await tmux.shows(`answer to turn ${turn}.`)
    }
    const before = tmux.screen
    for (const turn of [1, 2, 3, 8, 9, 10]) expect(count(before, `answer to turn ${turn}.`)).toBe(1)
    // Esc Esc goes back, in a copy.
    tmux.press("Escape", "Escape")
    await tmux.shows("Go back to before a prompt")
    tmux.press("Enter")
    await tmux.shows("Back to before: turn 10")
    tmux.press("C-u")
    await tmux.shows(empty)
    say("another turn")
    await tmux.shows("answer to another turn.")
    say("/quit")
    await tmux.ended
    // Leaving and resuming.
    const again = open(["--continue"])
    const resumed = await again.shows("answer to another turn.")
    expect(resumed).toContain("answer to turn 9.")
    expect(resumed).not.toContain("answer to turn 10.")
    again.type("last")
    again.press("Enter")
    await again.shows("answer to last.")
    await quit(again)
  })

  it("keeps each finished line once, however its window changes while it draws", async () => {
    const lines = Array.from(
      { length: 60 },
      (_, at) => `- line ${at + 1}. of a long answer that is wrapped where it is narrow`
    )
    const { open } = await world(() => ({ deltas: lines.map((line) => ({ content: `${line}\n` })), text: "The end." }))
    const tmux = open([], { columns: 100, rows: 30 })
    await tmux.shows(empty)
    tmux.type("go")
    tmux.press("Enter")
    for (const [columns, rows] of [[60, 30], [120, 30], [120, 20], [80, 24]] as const) tmux.resize(columns, rows)
    const screen = await tmux.shows("The end.")
    for (let line = 1; line <= 60; line++) expect(count(screen, `line ${line}. of`)).toBe(1)
    await quit(tmux)
  })

  it("keeps each answer once while an edge of its window is dragged", async () => {
    const answers = Array.from({ length: 40 }, (_, at) => `answer ${at + 1}.`)
    let resize = (_columns: number) => {}
    let step = 0
    const { open } = await world(() => {
      step++
      for (const by of [0, 13, 26]) resize(60 + (step * 37 + by) % 60)
      const text = answers[step - 1]
      return text === undefined ? "The end." : { text, calls: [{ tool: "list", args: { path: `a${step}` } }] }
    })
    const tmux = open([], { columns: 120, rows: 50 })
    resize = (columns) => tmux.resize(columns, 50)
    await tmux.shows(empty)
    tmux.type("go")
    tmux.press("Enter")
    const screen = await tmux.shows("The end.")
    expect(answers.map((answer) => count(screen, answer))).toEqual(answers.map(() => 1))
    await quit(tmux)
  })

  it("keeps what it has printed when the window gets narrower and wider again", async () => {
    const { open } = await world(() => "The answer.")
    const tmux = open()
    await tmux.shows(empty)
    tmux.type("ask it")
    tmux.press("Enter")
    await tmux.shows("The answer.")
    await tmux.shows("tokens")
    tmux.resize(30, 24)
    // The line at the bottom is cut off, and then it is whole again.
    await tmux.shows("…")
    tmux.resize(80, 24)
    tmux.type("typed at last")
    await tmux.shows("› typed at last")
    const screen = await tmux.shows("tokens")
    expect(count(screen, "› ask it")).toBe(1)
    expect(count(screen, "The answer.")).toBe(1)
    expect(count(screen, "ask · build")).toBe(1)
    tmux.press("C-c")
    await tmux.shows(empty)
    await quit(tmux)
  })

  it.each(["Ctrl+Z", "kill -TSTP"])("is suspended by %s, and fg brings back what was being typed", async (by) => {
    const { env, place } = await world(() => "hello")
    const prompt = "bash-"
    const tmux = new Tmux(["bash", "--norc", "--noprofile", "-i"], { cwd: place.project, env })
    atEnd(() => tmux.close())
    await tmux.shows(prompt)
    tmux.type(`sh -c 'echo $$ > pid; exec ${process.execPath} ${program} -m openai/m'`)
    tmux.press("Enter")
    await tmux.shows(empty)
    tmux.type("half a word")
    await tmux.shows("› half a word")
    if (by === "Ctrl+Z") tmux.press("C-z")
    else process.kill(Number(readFileSync(join(place.project, "pid"), "utf8")), "SIGTSTP")
    await tmux.shows(prompt, 2)
    // Longer than its clock's tick: the tick that is due must not draw beside the frame of fg.
    tmux.type("sleep 1.2; echo out$((1+1))")
    tmux.press("Enter")
    await tmux.shows("out2")
    tmux.type("fg")
    tmux.press("Enter")
    expect(count(await tmux.shows("› half a word"), `${"─".repeat(79)}\n`)).toBe(1)
    tmux.press("Enter")
    await tmux.shows("hello")
    tmux.type("/quit")
    tmux.press("Enter")
    // The shell reads this once the program has ended.
    tmux.type("exit")
    tmux.press("Enter")
    await tmux.ended
  })

  it("folds pasted megabytes, and sends them whole", async () => {
    const { llm, open } = await world(() => "read it")
    const tmux = open()
    await tmux.shows(empty)
    tmux.paste(`${"0123456789 ".repeat(100)}\n`.repeat(2_000))
    await tmux.shows("[Pasted text 1: 2001 lines]")
    tmux.press("Enter")
    await tmux.shows("read it")
    expect(llm.requests.at(-1)?.user.at(-1)?.length).toBeGreaterThan(2_000_000)
    await quit(tmux)
  })
})

describe.skipIf(!hasScreen || !hasPython)("a session in screen (needs screen and python3)", () => {
  it("talks, and leaves the window as it was", async () => {
    const { env, place } = await world(() => "an answer of the model")
    const { printed } = await onTerminal(
      ["screen", "-c", "/dev/null", "-T", "xterm", process.execPath, program, "-m", "openai/m"],
      {
        cwd: place.project,
        env: { ...env, TERM: "xterm", SCREENDIR: place.home },
        keys: [
          { after: "Write a prompt", send: "go\r" },
          { after: "an answer of the model", send: "/quit\r" }
        ]
      }
    )
    expect(await shown(printed)).toContain("screen is terminating")
  })
})
