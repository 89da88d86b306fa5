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
    for (const text of ["/compact", "!ls"]) {
      seat.type(`${text} \t`)
      expect(seat.model.take()).toEqual([])
      expect(seat.below).toContain(`› ${text}`)
      expect(seat.below).toContain("Only prompts and commands of the project wait")
      seat.type("\u0015")
    }
  })

  it("leaves once the work has ended, whatever was not chosen yet about it", () => {
    const seat = new Seat()
    seat.model.confirmLeaving("The turn is under way.", [{ value: "stay", label: "Stay here" }], () => undefined)
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
