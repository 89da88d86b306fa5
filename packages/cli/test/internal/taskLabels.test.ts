import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { expect, it } from "vitest"
import { plain, TaskLabels } from "../../src/internal/run/plain.ts"
import type { Streams } from "../../src/Stdio.ts"

const id = (name: string) => name as SessionID

const created = (task: string, description: string): Event =>
  ({
    type: "subagent.created",
    sessionID: id("root"),
    depth: 0,
    properties: { task_id: id(task), description }
  }) as unknown as Event

it("names a task once a second one has begun, and never the root", () => {
  const labels = new TaskLabels()
  labels.see(created("a", "Look"))
  expect(labels.of(id("a"))).toBe("")
  labels.see(created("a", "Look again"))
  expect(labels.of(id("a"))).toBe("")
  labels.see(created("b", `\u001b[31m${"x".repeat(100)}`))
  expect(labels.of(id("a"))).toBe(" (Look again)")
  expect(labels.of(id("b"))).toBe(` (\\x1b[31m${"x".repeat(75)}…)`)
  expect(labels.of(id("root"))).toBe("")
})

it("names tasks that continue from their first line on", () => {
  const lines: Array<string> = []
  const presenter = plain({ err: (line: string) => void lines.push(line) } as unknown as Streams)
  const run = (task: string) => ({
    taskID: id(task),
    parentID: id("root"),
    partID: `prt_${task}`,
    agent: "general",
    description: `Do ${task}`
  })
  presenter.begin(
    { id: id("root") } as unknown as SessionInfo,
    new Map(),
    [run("a"), run("b")] as unknown as ReadonlyArray<TaskRun>
  )
  const read = {
    type: "tool",
    id: "prt_1",
    sessionID: id("a"),
    tool: "read",
    state: { status: "running", input: { filePath: "x" } }
  }
  presenter.event(
    {
      type: "message.part.updated",
      sessionID: id("a"),
      depth: 1,
      timestamp: 0,
      properties: { part: read }
    } as unknown as Event
  )
  expect(lines).toEqual([
    "> task description=Do a subagent_type=general",
    "> task description=Do b subagent_type=general",
    "  > subagent:read path=x limit=all (Do a)"
  ])
})

it("knows tasks of an earlier process by their titles", () => {
  const labels = new TaskLabels()
  for (const task of ["a", "b"]) {
    labels.see(
      {
        type: "session.updated",
        sessionID: id(task),
        depth: 1,
        properties: { info: { id: id(task), parentID: id("root"), title: `Title of ${task}` } }
      } as unknown as Event
    )
  }
  expect(labels.of(id("a"))).toBe(" (Title of a)")
})
