import { describe, expect, it } from "vitest"
import type { Dialog } from "../../src/Dialog.ts"
import { dialogLines } from "../../src/internal/ask/dialogLines.ts"
import { quiet } from "../../src/internal/ask/dialogQueue.ts"
import { coloured, colourless } from "../../src/Style.ts"
import { widthOf } from "../../src/Width.ts"
import { Desk, permission, question } from "../support/dialogs.ts"

const bash = (command: string, more: Parameters<typeof permission>[1] = {}) =>
  permission("per_1", {
    permission: "bash",
    patterns: [command],
    always: ["git *"],
    metadata: { command, description: "Shows the log" },
    ...more
  })

/** How a desk looks. */
const view = (desk: Desk, { columns = 80, rows = 20, style = colourless, task = "Look around" } = {}) => {
  const { state } = desk
  return state === undefined ? { lines: [], page: undefined } : dialogLines(state, { columns, rows, style, task })
}

const linesOf = (dialog: Dialog, size: Parameters<typeof view>[1] = {}) =>
  view(new Desk(dialog).wait(quiet), size).lines

describe("a question for permission", () => {
  it("for what a command needs shows the command, and what it would get", () => {
    const metadata = { command: "npm install && ls", reason: "It may use the network." }
    const asked = bash("npm install && ls", { permission: "bash_network", patterns: ["npm install"], metadata })
    expect(linesOf(asked, { columns: 90 }).slice(0, 5)).toEqual([
      "? build > general asks for permission: bash_network",
      "  task: Look around",
      "  why: It may use the network.",
      "  ▌ npm install && ls",
      "    asked for: npm install"
    ])
  })

  it("says who asks, for which task, which of how many, what would run, why, and what always would allow", () => {
    const desk = new Desk(bash("git log | head", { patterns: ["git log", "head"] }), permission("per_2")).wait(quiet)
    expect(view(desk, { columns: 90 }).lines).toEqual([
      "? build > general asks for permission: bash (1 of 2 questions)",
      "  task: Look around",
      "  why: No rule allows this.",
      "  ▌ git log | head",
      "    asked for: git log",
      "    asked for: head",
      "    description: Shows the log",
      "  1 Yes, this once",
      "  2 Yes, always in this session tree: bash git *",
      "  3 Yes, always in this project, in later sessions too: bash git *",
      "  4 No",
      "  5 No, and write why: the agent reads it and continues",
      "  ↑ ↓ or 1-5 selects, Enter confirms"
    ])
  })

  it("says why, where that is known", () => {
    expect(linesOf(bash("ls", { metadata: { reasons: ["It writes.", "It is unclear."] } }))).toContain(
      "  why: It writes. It is unclear."
    )
    expect(linesOf(bash("ls", { metadata: { reason: "The same call was made three times in a row." } }))).toContain(
      "  why: The same call was made three times in a row."
    )
  })

  it("says that keys do not count yet, marks what is selected, and shows the reason as it is written", () => {
    const desk = new Desk(bash("ls"))
    expect(view(desk).lines.at(-1)).toBe("  Keys do not count yet: type nothing for 0.6 s")
    desk.wait(quiet).type("2")
    expect(view(desk).lines.slice(-6, -2)).toEqual([
      "  1 Yes, this once",
      "❯ 2 Yes, always in this session tree: bash git *",
      "  3 Yes, always in this project, in later sessions too: bash git *",
      "  4 No"
    ])
    desk.type("5\r", "not \u001b[31m", "now")
    expect(view(desk).lines.slice(-2)).toEqual(["  because: not now▏", "  Enter sends it, Esc goes back"])
  })

  it("scrolls what is long with its header and its choices in place, and leaves nothing out", () => {
    const lines = Array.from({ length: 40 }, (_, i) => `echo ${i}`)
    const desk = new Desk(bash(lines.join("\n"), { metadata: {} })).wait(quiet)
    const seen = new Set<string>()
    const pages: Array<number | undefined> = []
    for (let i = 0; i < 8; i++) {
      const drawn = view(desk, { rows: 18 })
      expect(drawn.lines).toHaveLength(18)
      expect(drawn.lines[0]).toBe("? build > general asks for permission: bash")
      expect(drawn.lines.join("\n")).toContain("5 No, and write why")
      for (const line of drawn.lines) if (line.startsWith("  ▌ ")) seen.add(line.slice(4))
      pages.push(drawn.page)
      desk.dialogs.drawn(drawn.page, desk.now)
      desk.type("\u001b[6~")
    }
    expect([...seen]).toEqual(lines)
    expect(pages.slice(-3)).toEqual([4, 4, 4])
    expect(view(desk, { rows: 18 }).lines).toContain("  lines 33-40 of 40, PgUp and PgDn scroll")
    desk.dialogs.drawn(4, desk.now)
    desk.type("\u001b[5~")
    expect(view(desk, { rows: 18 }).lines).toContain("  lines 25-32 of 40, PgUp and PgDn scroll")
  })

  it("that has no room is not shown in part", () => {
    const desk = new Desk(bash("ls\n".repeat(9))).wait(quiet)
    expect(view(desk, { rows: 6 })).toEqual({
      lines: ["? A question waits. Make the terminal larger to read it."],
      page: undefined
    })
  })

  it("hides nothing: controls, strange spaces, and spaces at the end (S50)", () => {
    const wide = { columns: 2_000, rows: 40 }
    const shownAs = (command: string) => linesOf(bash(command), wide)[3]?.slice(4)
    expect(shownAs(`ls${" ".repeat(200)}`)).toBe(`ls${"\\x20".repeat(200)}`)
    expect(shownAs(`ls${" ".repeat(200)};rm`)).toBe(`ls${" ".repeat(200)};rm`)
    for (
      const [raw, shown] of [
        ["\u001b]52;c;eA==\u0007", "\\x1b]52;c;eA==\\x07"],
        ["\u001b]8;;http://x\u001b\\", "\\x1b]8;;http://x\\x1b\\"],
        ["\u009b2J", "\\x9b2J"],
        ["a\rb", "a\\rb"],
        ["\u202egnp.sh", "\\u202egnp.sh"],
        ["r\u200bm", "r\\u200bm"],
        ["rm\u3000-rf", "rm\\u3000-rf"],
        ["rm\u2003x", "rm\\u2003x"]
      ] as const
    ) {
      expect(shownAs(raw)).toBe(shown)
      const everywhere = linesOf(
        bash("x", {
          path: [raw],
          permission: raw,
          always: [raw],
          metadata: { [raw]: "key", value: raw, lines: `${raw}\n`, reason: raw }
        }),
        { ...wide, task: raw }
      )
      expect(everywhere.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      expect(everywhere).toContain(`  2 Yes, always in this session tree: ${shown} ${shown}`)
    }
  })

  it("shows every character of a long command and of a long rule, and stays within the terminal", () => {
    const rule = `git ${"b".repeat(150)}`
    for (const columns of [40, 60, 80, 120, 200]) {
      const lines = linesOf(bash(`echo ${"a".repeat(200)}世\nrm -rf x`, { always: [rule] }), { columns, rows: 60 })
      expect(lines.filter((line) => line.startsWith("  ▌ ")).map((line) => line.slice(4)).join("")).toBe(
        `echo ${"a".repeat(200)}世rm -rf x`
      )
      expect(lines.join("").replace(/ {2,}/g, "")).toContain(rule)
      for (const line of lines) expect(widthOf(line)).toBeLessThan(columns)
    }
  })

  it("that no rule can answer says so", () => {
    const lines = linesOf(bash("ls", { always: [] }))
    expect(lines).toContain("  It is asked each time: no rule can allow it.")
    expect(lines.slice(-4, -1)).toEqual([
      "  1 Yes, this once",
      "  2 No",
      "  3 No, and write why: the agent reads it and continues"
    ])
  })

  it("colours a change line by line", () => {
    const request = permission("per_1", { metadata: { filePath: "a.txt", diff: "-old\n+new \n same" } })
    expect(linesOf(request).slice(3, 8)).toEqual([
      "  ▌ a.txt",
      "    diff:",
      "    │ -old",
      "    │ +new\\x20",
      "    │  same"
    ])
    expect(linesOf(request, { style: coloured }).slice(5, 7)).toEqual([
      "    │ \u001b[31m-old\u001b[39m",
      "    │ \u001b[32m+new\\x20\u001b[39m"
    ])
  })
})

it("a question of an agent shows what it asks, and nothing that a terminal would obey", () => {
  expect(linesOf(question("prt_1", { question: "One?\nTwo \u001b[2J?" }))).toEqual([
    "? build > general asks:",
    "  task: Look around",
    "  One?",
    "  Two \\x1b[2J?",
    "  1 red",
    "  2 blue: like \\x1b[31mthe sky",
    "  3 Write an answer",
    "  4 No answer",
    "  ↑ ↓ or 1-4 selects, Enter confirms"
  ])
})

it("a question with several answers says that Enter marks, and that it sends", () => {
  const desk = new Desk(question("prt_1", { multiple: true })).wait(quiet)
  expect(view(desk).lines.at(-1)).toContain("Enter marks")
  desk.type("2")
  expect(view(desk).lines.at(-1)).toContain("Enter marks")
  desk.type("3")
  expect(view(desk).lines.at(-1)).toContain("Enter confirms")
})
