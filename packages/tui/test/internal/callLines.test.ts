/** The calls of the main agent as they look: frames of the pure renderer at several widths. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import { describe, expect, it } from "vitest"
import { callLines } from "../../src/internal/calls/transcript.ts"
import { coloured, colourless } from "../../src/Style.ts"
import { widthOf } from "../../src/Width.ts"

const part = (tool: string, state: ToolState): ToolPart => ({
  id: "prt_1" as PartID,
  sessionID: "ses_1" as SessionID,
  messageID: "msg_1" as ToolPart["messageID"],
  type: "tool",
  callID: "c",
  tool,
  state
})

const done = (
  tool: string,
  input: unknown,
  metadata: Readonly<Record<string, unknown>>,
  { output = "", title = "", took = 200 } = {}
) => part(tool, { status: "completed", input, output, title, metadata, time: { start: 0, end: took } })

const failed = (tool: string, input: unknown, message: string) =>
  part(tool, { status: "error", input, error: { tag: "x", message } })

const diff = [
  "@@ -7,4 +7,5 @@",
  " same",
  "-const before = 1",
  "+const after = 2",
  "+\tconst more = \"世界\u001b[31m\"",
  " same",
  "@@ -100,2 +101,1 @@",
  "-gone",
  " last"
].join("\n")

const calls: ReadonlyArray<ToolPart> = [
  done("read", { filePath: "packages/core/src/Session.ts" }, { first: 1, last: 120, total: 120 }),
  done("read", { filePath: "big.log", offset: 10 }, { first: 10, last: 40, total: 9_000 }),
  done("grep", { pattern: "storeSession\\(", path: "packages" }, { count: 1 }),
  done("glob", { pattern: "**/*.ts" }, { count: 40 }),
  done("list", { path: "." }, { count: 12 }),
  done("bash", { command: "npm test -- --run\necho done" }, { exit: 1 }, {
    output: `${Array.from({ length: 20 }, (_, i) => `test ${i} \u001b[32mok\u001b[0m`).join("\n")}\n(exit code 1)`,
    took: 12_400
  }),
  done("bash", { command: "true" }, { exit: 0 }, { output: "(no output)" }),
  done("edit", { filePath: "src/a.ts", oldString: "x", newString: "y" }, { added: 2, removed: 2, diff }),
  done("write", { filePath: "new.txt" }, { done: "created", added: 1, removed: 0, diff: "@@ -0,0 +1,1 @@\n+hello" }),
  done("patch", { patchText: "…" }, {
    files: ["M a.txt"],
    added: 1,
    removed: 0,
    diff: "+++ a.txt\n@@ -4,0 +5,1 @@\n+x"
  }, {
    title: "M a.txt"
  }),
  done("todowrite", { todos: [] }, {
    todos: [
      { content: "Read the code", status: "completed" },
      { content: "Mend it\u001b[2J", status: "in_progress" },
      { content: "Test it", status: "pending" }
    ]
  }, { title: "2 of 3 todos open" }),
  done("task", { description: "Look around", prompt: "p" }, { status: "completed" }, { took: 65_000 }),
  done("odd_tool", { key: "value" }, {}, { output: "one\ntwo\n" }),
  failed("edit", { filePath: "src/a.ts" }, "oldString is not in src/a.ts.\nRead it again."),
  failed("bash", { command: "rm -rf /" }, "Permission denied.")
]

describe.each([60, 80, 120, 200])("at %i columns", (columns) => {
  it("look like this", async () => {
    const lines = calls.flatMap((each) => callLines(each, columns, colourless))
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`../golden/calls-${columns}.txt`)
    for (const line of lines) {
      expect(widthOf(line)).toBeLessThan(columns)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
  })
})

it("a change is coloured, and has the line numbers of both files", () => {
  const lines = callLines(calls[7] as ToolPart, 80, coloured)
  expect(lines).toContain("\u001b[31m        8 -const before = 1\u001b[39m")
  expect(lines).toContain("\u001b[32m        8 +const after = 2\u001b[39m")
  expect(lines).toContain("\u001b[31m      100 -gone\u001b[39m")
  expect(lines).toContain("\u001b[2m      101  last\u001b[22m")
})

it("a long change is folded", () => {
  const long = ["@@ -0,0 +1,100 @@", ...Array.from({ length: 100 }, (_, i) => `+line ${i + 1}`)].join("\n")
  const lines = callLines(
    done("write", { filePath: "a" }, { done: "created", added: 100, removed: 0, diff: long }),
    80,
    colourless
  )
  expect(lines[0]).toBe("• write a  created, +100 -0")
  expect(lines.at(-1)).toBe("    … 77 more lines")
  expect(lines).toHaveLength(25)
})

describe("a task that failed", () => {
  const message = (why: string) =>
    `task_id: ses_01m80r4v8a (for resuming to continue this task if needed)\nstate: budget_exhausted\n\n<task_error>\n${why}\n</task_error>`
  const lines = (why: string, columns: number) =>
    callLines(failed("task", { description: "Will go wrong" }, message(why)), columns, colourless)

  it("are shown for names that no tool has", () => {
    for (const tool of ["__proto__", "constructor", "toString"]) {
      expect(callLines(failed(tool, { a: 1 }, "unknown"), 80, colourless)[0]).toContain(tool)
    }
  })

  it("says how it ended and why", () => {
    expect(lines("It used up\u001b[2J all.\nMore.", 100)).toEqual([
      "✗ task Will go wrong  budget exhausted, It used up\\x1b[2J all."
    ])
  })

  it("says all of it where a line is too short", () => {
    const why = "openai/gpt refused the request (400): Bad thing that takes more than a line."
    const [first, ...rest] = lines(why, 40)
    expect(first).toBe("✗ task Will go wrong")
    expect(rest.map((row) => row.slice(4)).join("")).toBe(`budget exhausted, ${why}`)
    for (const row of rest) expect(widthOf(row)).toBeLessThan(40)
  })
})
