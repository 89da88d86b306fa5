/** The lines of a run without a terminal: what is said of calls that fail. */
import type { Event } from "@skein/domain/Event"
import { expect, it } from "vitest"
import { plain } from "../../src/internal/run/plain.ts"
import type { Streams } from "../../src/Stdio.ts"

const world = () => {
  const lines: Array<string> = []
  const presenter = plain({ err: (line: string) => void lines.push(line) } as unknown as Streams)
  const tell = (type: string, properties: object) =>
    presenter.event({ type, sessionID: "ses_root", depth: 0, timestamp: 0, properties } as unknown as Event)
  const call = (id: string, tool: string, input: object, state: object) =>
    tell("message.part.updated", {
      part: { type: "tool", id, sessionID: "ses_root", tool, state: { input, ...state } }
    })
  const runs = (id: string, tool: string, input: object) => call(id, tool, input, { status: "running" })
  const fails = (id: string, tool: string, input: object, message: string) =>
    call(id, tool, input, { status: "error", error: { tag: "t", message } })
  const ends = (id: string, tool: string, input: object, end = 10) =>
    call(id, tool, input, { status: "completed", output: "", time: { start: end - 1, end } })
  return { lines, tell, runs, fails, ends }
}

it("names a task that failed, how it ended, and why", () => {
  const { fails, lines, runs } = world()
  runs("1", "task", { description: "Will go wrong" })
  fails(
    "1",
    "task",
    { description: "Will go wrong" },
    "task_id: ses_1 (for resuming to continue this task if needed)\nstate: timed_out\n\n<task_error>\nToo \u001b[2Jslow.\n</task_error>"
  )
  fails("2", "task", { description: "Unknown" }, "Unknown agent type: x is not a valid agent type")
  expect(lines).toEqual([
    "> task description=Will go wrong",
    "> task failed (Will go wrong): timed out, Too \\x1b[2Jslow.",
    "> task description=Unknown",
    "> task failed: Unknown agent type: x is not a valid agent type"
  ])
})

it("names what a failed call was about where another one ran beside it", () => {
  const { fails, lines, runs } = world()
  runs("1", "read", { filePath: "a.txt" })
  runs("2", "read", { filePath: "b.txt" })
  fails("4", "read", {}, "No path.")
  fails("1", "read", { filePath: "a.txt" }, "No a.")
  fails("2", "read", { filePath: "b.txt" }, "No b.")
  runs("3", "read", { filePath: "c.txt" })
  fails("3", "read", { filePath: "c.txt" }, "No c.")
  expect(lines.filter((line) => line.includes("failed"))).toEqual([
    "> read limit=all failed: No path.",
    "> read a.txt failed: No a.",
    "> read b.txt failed: No b.",
    "> read failed: No c."
  ])
})

it("says why a background task failed", () => {
  const { lines, tell } = world()
  const outcome = { status: "failed", error: { tag: "t", message: "No credit.\nMore." } }
  tell("background_task.failed", { description: "Look", durationMs: 2_000, outcome })
  expect(lines).toEqual(["> background task failed description=Look after=2.0 s: No credit."])
})

it("says once what began and ended while the connection was lost, as the events after that show it", () => {
  const { ends, fails, lines, runs } = world()
  runs("1", "read", { filePath: "a.txt" })
  // Each event shows its call as it is by now.
  for (const _ of ["pending", "running", "completed"]) ends("2", "read", { filePath: "b.txt" })
  for (const _ of ["running", "error"]) fails("3", "read", { filePath: "c.txt" }, "No c.")
  for (const _ of ["running", "completed"]) ends("1", "read", { filePath: "a.txt" })
  runs("4", "read", { filePath: "d.txt" })
  ends("4", "read", { filePath: "d.txt" })
  expect(lines).toEqual([
    "> read path=a.txt limit=all",
    "> read path=b.txt limit=all",
    "> read path=c.txt limit=all",
    "> read c.txt failed: No c.",
    "> read path=d.txt limit=all"
  ])
})

it("says nothing of the calls that a copy of a session begins with", () => {
  const { ends, lines, runs, tell } = world()
  tell("session.created", { info: { id: "ses_root", title: "t", time: { created: 50, updated: 50 } } })
  ends("1", "read", { filePath: "a.txt" }, 50)
  runs("2", "read", { filePath: "b.txt" })
  ends("2", "read", { filePath: "b.txt" }, 60)
  expect(lines).toEqual(["> read path=b.txt limit=all"])
})
