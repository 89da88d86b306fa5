import type { PermissionRequest } from "@skein/domain/Event"
import type { PermissionID, SessionID } from "@skein/domain/Id"
import { describe, expect, it } from "vitest"
import { colourless } from "../../src/internal/terminal/style.ts"
import { widthOf } from "../../src/internal/terminal/width.ts"
import { askLines, keysLine } from "../../src/internal/tree/askLines.ts"

const bash = (command: string, more: Partial<PermissionRequest> = {}): PermissionRequest => ({
  id: "per_1" as PermissionID,
  sessionID: "ses_2" as SessionID,
  rootID: "ses_1" as SessionID,
  path: ["build", "general"],
  permission: "bash",
  patterns: [command],
  always: ["git *"],
  metadata: { command, description: "Shows the log" },
  ...more
})

describe("a question", () => {
  it("says who asks, what would run, and what always would allow", () => {
    expect(askLines(bash("git log"), 80, colourless)).toEqual([
      "? build > general asks for permission: bash",
      "  ▌ git log",
      "    description: Shows the log",
      "  always would allow: bash git *"
    ])
  })

  it("hides nothing: controls, strange spaces, and spaces at the end (S50)", () => {
    const shownAs = (command: string) => askLines(bash(command), 2_000, colourless)[1]?.slice(4)
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
      const everywhere = askLines(
        bash("x", {
          path: [raw],
          permission: raw,
          always: [raw],
          metadata: { [raw]: "key", value: raw, lines: `${raw}\n` }
        }),
        2_000,
        colourless
      )
      expect(everywhere.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      expect(everywhere.at(-1)).toBe(`  always would allow: ${shown} ${shown}`)
    }
    expect(askLines(bash("ls  \u001b[8mrm\u00a0-rf\t~ "), 80, colourless)[1]).toBe(
      "  ▌ ls  \\x1b[8mrm\\u00a0-rf\\t~\\x20"
    )
  })

  it("shows every line of a command, however long", () => {
    const lines = askLines(bash(`echo ${"a".repeat(200)}\nrm -rf x\n`), 60, colourless)
    expect(lines.filter((line) => line.startsWith("  ▌ ")).map((line) => line.slice(4)).join("")).toBe(
      `echo ${"a".repeat(200)}rm -rf x`
    )
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60)
  })

  it("that no rule can answer says so, and has no key for it", () => {
    const request = bash("ls", { always: [] })
    expect(askLines(request, 80, colourless).at(-1)).toBe("  It is asked each time.")
    expect(keysLine(request, 0)).toBe("[y] once  [n] no  [m] no, and say why")
    expect(keysLine(bash("ls"), 2)).toContain("(2 more questions wait)")
  })

  it("shows a change line by line", () => {
    const request = bash("a.txt", {
      permission: "edit",
      patterns: ["a.txt"],
      metadata: { filePath: "a.txt", diff: "-old\n+new " }
    })
    expect(askLines(request, 80, colourless).slice(1, 5)).toEqual([
      "  ▌ a.txt",
      "    diff:",
      "    │ -old",
      "    │ +new\\x20"
    ])
  })
})
