import type { MessageWithParts } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import { describe, expect, it } from "vitest"
import { KeyDecoder } from "../../src/KeyDecoder.ts"
import { widthOf } from "../../src/Width.ts"
import { Seat } from "../support/seat.ts"

describe("a question", () => {
  it("takes nothing that was typed when it appeared, and no letter ever", () => {
    const seat = new Seat().ask().type("y")
    expect(seat.model.take()).toEqual([])
    expect(seat.below).toContain("› y")
    expect(seat.below).toContain("The input holds text: Tab goes to the question")
    seat.wait(1_000).type("1")
    expect(seat.below).toContain("› y1")
    expect(seat.model.take()).toEqual([])
  })

  it("takes keys of an empty input once nothing was typed for 600 ms", () => {
    const seat = new Seat().ask().wait(599).type("\u001b[B\r")
    expect(seat.model.take()).toEqual([])
    seat.wait(601).type("\r")
    expect(seat.model.take()).toEqual([])
    seat.wait(601).type("1").type("\r")
    expect(seat.model.take()).toMatchObject([{ type: "reply", reply: { reply: "once" } }])
  })

  it("takes keys after Tab while the input holds text, which stays", () => {
    const seat = new Seat().ask().type("later").wait(1_000).type("\t").type("\u001b[B")
    expect(seat.below).toContain("❯ 1")
    seat.type("\r")
    expect(seat.model.take()).toMatchObject([{ type: "reply", reply: { reply: "once" } }])
    expect(seat.below).toContain("› later")
  })

  it("takes no keys while the tree hides it, and none for 600 ms afterwards", () => {
    const seat = new Seat().delegated("a", "Read").ask().wait(1_000).type("\u0014")
    seat.wait(1_000).type("1").wait(1_000).type("\r")
    expect(seat.model.take()).toMatchObject([{ type: "transcript", session: "ses_1" }])
    seat.wait(1_000).type("\u001b[B").type("\r")
    expect(seat.model.take()).toMatchObject([{ type: "transcript", session: "ses_a" }])
    seat.escape().type("\u001b[B").type("\r")
    expect(seat.below).toContain("1 Yes, this once")
    expect(seat.model.take()).toEqual([])
  })

  it("is interrupted with the turn by Esc, and sends what is typed as a steer", () => {
    const seat = new Seat().ask().wait(1_000).escape()
    expect(seat.model.take().some(({ type }) => type === "stop")).toBe(true)
    seat.type("do something else\r")
    expect(seat.model.take()).toMatchObject([{ type: "prompt", text: "do something else" }])
  })
})

describe("what is printed", () => {
  it("names what to do once the session is deleted elsewhere", async () => {
    const seat = new Seat().prompted("Hello").said("Hi.").ends().tell("session.deleted", { info: {} })
    expect((await seat.lines()).join("\n")).toContain("deleted elsewhere. /new begins another one")
  })

  it("has a thought above the words that follow it, once", async () => {
    const seat = new Seat().prompted("why?").thinks("Let me ").thinks("see.").wait(2_000).streams("Because.\n")
    seat.thought("Let me see.").ends()
    const lines = (await seat.lines()).join("\n")
    expect(lines).toMatch(/∴ thought for 2\.0 s, 11 characters: Let me see\.\n+Because\./)
    expect(lines.split("∴").length).toBe(2)
  })

  it("does not stop tasks in the background with Esc once the turn has ended", () => {
    const seat = new Seat().prompted("go").delegated("a", "Look around")
    seat.tell("background_task.started", { task_id: "ses_a", description: "Look around" }, "ses_a")
    const turn = { began: 0, ended: { at: 1, how: "completed" } }
    const info = { id: "ses_1", rootID: "ses_1", depth: 0, agent: "build", title: "t", turn }
    seat.tell("session.updated", {
      info: { ...info, usage: { own: none, subtree: none }, time: { created: 0, updated: 1 } }
    })
    seat.ends().escape().frame()
    expect(seat.model.take()).toEqual([])
    expect(seat.below).toContain("Stop a background task in the tree: Ctrl+T, then `s`.")
  })

  it("says when a task in the background has ended, above the words about it", async () => {
    const seat = new Seat().prompted("go").delegated("a", "Look around").delegated("b", "Wait")
    const ends = (id: string, status: string) => {
      const task = { task_id: `ses_${id}`, trigger_session_id: "ses_1", agent: "explore" }
      const outcome = { status, by: "user" }
      const description = id === "a" ? "Look around" : "Wait"
      const type = status === "completed" ? "subagent.completed" : "subagent.failed"
      seat.tell(type, { ...task, description, durationMs: 6_000, outcome }, `ses_${id}`)
    }
    seat.tell("background_task.started", { task_id: "ses_a", description: "Look around" }, "ses_a")
    ends("a", "completed")
    ends("b", "completed")
    seat.streams("It says.\n").ends()
    const lines = (await seat.lines()).join("\n")
    expect(lines).toMatch(/• task Look around {2}completed in the background, 6\.0 s\n+It says\./)
    expect(lines).not.toContain("task Wait")
  })

  it("has what is sent while the server is away, since it shows nowhere else", async () => {
    const seat = new Seat(true, { isAway: true, server: "http://127.0.0.1:1" }).type("and then\r")
    expect((await seat.lines()).join("\n")).toContain("Is sent once the server is back: and then")
    const near = new Seat(true, { isAway: false, server: "http://127.0.0.1:1" }).type("and then\r")
    expect((await near.lines()).join("\n")).not.toContain("Is sent once")
  })

  it("breaks what is said before a session at words, and obeys nothing in it", async () => {
    const seat = new Seat(false, {}, 40)
    seat.model.say("Attached to the server at http://localhost: its \u001b]0;owned\u0007 trust applies.")
    const lines = (await seat.lines()).map((line) => line.trimEnd())
    expect(lines).toContain("Attached to the server at")
    expect(lines.join(" ")).toContain("\\x1b]0;owned\\x07 trust applies.")
  })

  it("has of a line of output what a terminal shows of it in the end", async () => {
    const seat = new Seat().prompted("get it")
    seat.called({ tool: "bash", input: { command: "get" }, output: "  0%\r 50%\r100%\r\nnext\r\n" })
    const lines = (await seat.lines()).map((line) => line.trimEnd())
    expect(lines).toContain("    100%")
    expect(lines).toContain("    next")
  })
})

describe("a list to choose from", () => {
  it("begins at what holds now", () => {
    const seat = new Seat()
    const items = ["plan", "ask", "edits"].map((value) => ({ value, label: value }))
    seat.model.views.choose("Modes", items, () => undefined, "edits")
    expect(seat.below).toContain("❯ edits")
    expect(seat.below).toContain("3 of 3")
  })
})

describe("a question", () => {
  it("obeys nothing in its words, which may name files", () => {
    const seat = new Seat()
    const items = [{ value: "stay", label: "Stay \u001b[2J" }]
    seat.model.views.confirm("Restored: a\u001b]0;owned\u0007\u202eb.txt", items, () => undefined)
    expect(seat.below).toContain("Restored: a\\x1b]0;owned\\x07\\u202eb.txt")
    expect(seat.below).toContain("Stay \\x1b[2J")
  })
})

describe("the input", () => {
  it("completes commands, and sends one that takes nothing at once", () => {
    const seat = new Seat(false).type("/he")
    expect(seat.below).toContain("❯ help")
    seat.type("\r")
    expect(seat.model.take()).toEqual([{ type: "command", name: "help", words: "" }])
  })

  it("counts all that matches in the menu, also where it does not fit", () => {
    const files = Array.from({ length: 120 }, (_, at) => `src/file${at}.ts`)
    const seat = new Seat(false, { files }).type("@src")
    expect(seat.below).toContain("1 of 120")
    seat.type("\u001b[B")
    expect(seat.below).toContain("2 of 120")
    expect(new Seat(false, { files }).type("@src/file119").below).not.toContain(" of ")
  })

  it("puts the name of a file into quotes where it would end early", () => {
    const seat = new Seat(false, { files: ["日本語 ファイル.txt"] }).type("see @日").type("\t\r")
    expect(seat.model.take()).toMatchObject([{ type: "prompt", text: "see @\"日本語 ファイル.txt\" " }])
  })

  it("loads the names of files again, once for each word that none of them matches", () => {
    const seat = new Seat(false).type("see @dee")
    expect(seat.model.take()).toEqual([{ type: "files" }])
    expect(seat.type("p2").model.take()).toEqual([])
    seat.model.facts.files = ["deep2.txt"]
    seat.model.refreshMenu()
    expect(seat.below).toContain("❯ deep2.txt")
    expect(seat.type("\tand @zzz").model.take()).toEqual([{ type: "files" }])
  })

  it("completes files and agents", () => {
    const seat = new Seat(false).type("see @b.t").type("\t")
    expect(seat.below).toContain("› see @src/b.ts")
    seat.type("and @expl\t\r")
    expect(seat.model.take()).toEqual([{
      type: "prompt",
      text: "see @src/b.ts and @explore ",
      typed: "see @src/b.ts and @explore "
    }])
  })

  it("sends no paste, whether or not the terminal marks it", () => {
    const seat = new Seat(false).type("\u001b[200~one\rtwo\r\u001b[201~").type("more lines\rof a paste\r")
    expect(seat.model.take()).toEqual([])
    expect(seat.below).toContain("› one\n  two")
  })

  it("folds a long paste again in every text that comes back", () => {
    const long = Array.from({ length: 20 }, (_, at) => `pasted ${at}`).join("\n")
    const seat = new Seat(false).type("see ").type(`\u001b[200~${long}\u001b[201~`).type(" please\r")
    expect(seat.model.take()).toMatchObject([{ type: "prompt", text: `see ${long} please` }])
    const folded = "› see [Pasted text 1: 20 lines] please"
    expect(seat.type("\u001b[A").below).toContain(folded)
    seat.type("\u0003")
    seat.model.input.set(`see ${long} please`)
    expect(seat.below).toContain(folded)
    seat.type("\r")
    expect(seat.model.take()).toMatchObject([{ type: "prompt", text: `see ${long} please` }])
  })

  it("shows each mode that Shift+Tab asks for at once, and the session's where that fails", () => {
    const seat = new Seat().type("\u001b[Z").type("\u001b[Z")
    expect(seat.model.take()).toEqual([{ type: "mode", mode: "edits" }, { type: "mode", mode: "plan" }])
    seat.model.mode.learn({ agent: "build", mode: "edits" })
    seat.model.mode.settle()
    expect(seat.below).toContain("plan · ")
    seat.model.mode.settle()
    expect(seat.below).toContain("edits · ")
  })

  it("goes through earlier prompts, and keeps what was begun", () => {
    const seat = new Seat(false).type("first\r").type("second\r").type("draft")
    seat.type("\u001b[A")
    expect(seat.below).toContain("› second")
    seat.type("\u001b[A\u001b[B\u001b[B")
    expect(seat.below).toContain("› draft")
  })

  it("sends with Tab for after the turn, shows what waits, and asks for the last of it back with Up", () => {
    const seat = new Seat().type("then this\t")
    expect(seat.model.take()).toEqual([{ type: "prompt", text: "then this", typed: "then this", after: "turn" }])
    seat.tell("inbox.updated", {
      waiting: [{ id: "msg_1", text: "at once" }, { id: "msg_2", text: "then this", after: "turn" }]
    })
    expect(seat.below).toContain("read at the next step: at once")
    expect(seat.below).toContain("sent after the turn (Up edits it): then this")
    seat.type("\u001b[A")
    expect(seat.model.take()).toEqual([{ type: "withdraw", message: "msg_2" }])
    seat.tell("inbox.updated", { waiting: [] })
    expect(seat.below).not.toContain("then this")
    seat.type("\u001b[A")
    expect(seat.model.take()).toEqual([])
  })

  it("keeps for after the turn what an agent reads, and not what the program itself does", () => {
    const seat = new Seat(true, { commands: [{ name: "own" }] }).type("/own x\t")
    expect(seat.model.take()).toEqual([{ type: "command", name: "own", words: "x", after: "turn" }])
    seat.type("/cost\r")
    expect(seat.model.take()).toEqual([{ type: "command", name: "cost", words: "" }])
    seat.type("!ls\t").type("/cost \t").type("/compact\r")
    expect(seat.model.take()).toEqual([])
    expect(seat.below).toContain("carried out after the turn: !ls")
    expect(seat.below).toContain("carried out after the turn (Up edits it): /compact")
    seat.type("\u001b[A")
    expect(seat.below).toContain("› /compact")
    seat.type("\r").ends()
    expect(seat.model.take()).toEqual([
      { type: "shell", command: "ls" },
      { type: "command", name: "cost", words: "" },
      { type: "command", name: "compact", words: "" }
    ])
    expect(seat.below).not.toContain("carried out")
  })

  it("carries nothing out after a turn that was interrupted, but after the next one", () => {
    const seat = new Seat().type("!ls\t").escape()
    expect(seat.model.take()).toEqual([{ type: "stop" }])
    expect(seat.ends().model.take()).toEqual([])
    expect(seat.below).toContain("carried out after your next prompt (Up edits it): !ls")
    seat.tell("session.status", { status: { type: "busy", step: 1 } }).ends()
    expect(seat.model.take()).toEqual([{ type: "shell", command: "ls" }])
  })

  it("leaves once the work has ended, whatever was not chosen yet about it", () => {
    const seat = new Seat()
    seat.model.views.confirmLeaving("The turn is under way.", [{ value: "stay", label: "Stay here" }], () => undefined)
    expect(seat.below).toContain("Stay here")
    seat.tell("session.idle", {})
    expect(seat.below).not.toContain("Stay here")
    expect(seat.model.take()).toEqual([{ type: "quit" }])
  })

  it("quits by Ctrl+C twice, which first clears, while it offers that", () => {
    const seat = new Seat(false).type("text").type("\u0003")
    expect(seat.below).toContain("Write a prompt")
    seat.type("\u0003").type("a").type("\u0003").wait(3_000).type("\u0003")
    expect(seat.model.take()).toEqual([])
    seat.wait(3_000).type("\u0003")
    expect(seat.model.take()).toEqual([{ type: "quit" }])
  })
})

describe("Ctrl+O", () => {
  const output = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`).join("\n")
  const long = { tool: "bash", input: { command: "make" }, metadata: { exit: 0 }, output }

  it("opens the one thing that is folded since the last prompt", () => {
    const seat = new Seat().prompted("go").called(long)
    seat.called({ ...long, input: { command: "true" }, output: "short" }).type("\u000f")
    expect(seat.below).toContain("bash make")
    expect(seat.below).toContain("line 1\n")
    expect(seat.below).not.toContain("lines before")
    expect(seat.model.take()).toEqual([])
  })

  it("opens the whole transcript where nothing or more is folded", () => {
    const transcript = [{ type: "transcript", session: "ses_1" }]
    const seat = new Seat().prompted("go").called(long).called(long).type("\u000f")
    expect(seat.model.take()).toEqual(transcript)
    seat.prompted("next").type("\u000f")
    expect(seat.model.take()).toEqual(transcript)
  })
})

it("one blank line stands before and after each prompt", async () => {
  const seat = new Seat().prompted("one").said("The first answer.").prompted("two").said("The second answer.")
  expect((await seat.lines()).join("\n")).toContain(
    "The first answer.\n\n› two\n\nThe second answer."
  )
})

describe("an answer that was interrupted", () => {
  const error = { tag: "interrupted", message: "Stopped before the answer was complete." }
  const base = {
    id: "msg_cut",
    sessionID: "ses_1",
    role: "assistant",
    agent: "build",
    providerID: "openai",
    modelID: "m"
  }
  const info = { ...base, usage: none, time: { created: 0, completed: 1 }, error }
  const part = { id: "prt_cut", sessionID: "ses_1", messageID: "msg_cut", type: "text", text: "The first ans" }

  it("is marked where it ends, before the next one, when it is read again", async () => {
    const seat = new Seat()
    const stored = [{ info, parts: [part] }] as unknown as ReadonlyArray<MessageWithParts>
    seat.model.recall(stored, 200)
    // A terminal that was disconnected reads the last message twice.
    seat.model.recall(stored, 200)
    seat.message("assistant").said("The second answer.")
    const text = (await seat.lines()).join("\n")
    expect(text).toMatch(/The first ans\n\[the answer was cut off here\]\n\nThe second answer\./)
    expect(text.split("cut off here")).toHaveLength(2)
  })

  it("is marked as soon as it is cut off", async () => {
    const seat = new Seat()
    seat.tell("message.updated", { info: { ...info, time: { created: 0 }, error: undefined } })
    seat.tell("message.part.delta", { messageID: "msg_cut", partID: "prt_cut", field: "text", delta: "The first ans" })
    seat.tell("message.part.updated", { part: { ...part, time: { start: 0, end: 1 } } })
    seat.tell("message.updated", { info })
    const text = (await seat.lines()).join("\n")
    expect(text).toContain("The first ans\n[the answer was cut off here]\n")
  })
})

describe("what is drawn", () => {
  it.each([[80, 24], [200, 50], [40, 10], [20, 4]])("fits a terminal of %i x %i in every state", (columns, rows) => {
    const states: ReadonlyArray<(seat: Seat) => Seat> = [
      (seat) => seat,
      (seat) => seat.type("x".repeat(300)),
      (seat) => seat.type("/"),
      (seat) => seat.ask(),
      (seat) => seat.type("\u0014"),
      (seat) => seat.type("queued 世界\t"),
      (seat) =>
        seat.tell("message.part.delta", {
          messageID: "msg_1",
          partID: "prt_1",
          field: "text",
          delta: "word ".repeat(500)
        })
    ]
    for (const state of states) {
      const seat = new Seat(true, {}, columns, rows)
      const frame = state(seat).frame()
      const lines = frame.type === "main" ? frame.below : frame.lines
      expect(lines.length).toBeLessThanOrEqual(rows)
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
    }
  })

  it("is the same however often it was drawn before", () => {
    const drawn = new Seat().type("abc").ask()
    const once = new Seat(true)
    once.model.press(new KeyDecoder().decode(Buffer.from("abc")), once.moment)
    once.ask()
    expect(drawn.below).toBe(once.below)
  })
})
