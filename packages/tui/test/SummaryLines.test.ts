import type { SessionID } from "@skein/domain/Id"
import { none } from "@skein/domain/Usage"
import { expect, it } from "vitest"
import { type Ended, summaryLines } from "../src/SummaryLines.ts"
import { TreeStory } from "./support/treeEvents.ts"

it("names each failed task with its reason, except those whose failure was told", () => {
  const story = new TreeStory("build", "t")
  for (let i = 0; i < 12; i++) {
    story.delegate(`t${i}`, "general", `Part ${i}`)
      .end(`t${i}`, { status: "failed", error: { tag: "t", message: `Reason ${i}.` } })
  }
  const result = { outcome: "completed", usage: none, sessionID: "ses_root", text: "" } as unknown as Ended
  const reported = new Set(["ses_t0", "ses_t1"] as ReadonlyArray<string> as ReadonlyArray<SessionID>)
  const lines = summaryLines(story.tree, result, { files: [], now: 0, reported })
  expect(lines.slice(0, 10)).toEqual(
    Array.from({ length: 10 }, (_, i) => `✗ general  Part ${i + 2}  failed: Reason ${i + 2}.`)
  )
  expect(lines[10]).toContain("12 tasks (12 failed)")
})

it("names no task as failed that continues on a server", () => {
  const story = new TreeStory("build", "t").delegate("t1", "general", "Part 1")
  const result = { outcome: "left", usage: none, sessionID: "ses_root", text: "" } as unknown as Ended
  const [line] = summaryLines(story.tree, result, { files: [], now: 0, reported: new Set() })
  expect(line).toMatch(/^left · .*1 task \(1 continuing\)$/)
})
