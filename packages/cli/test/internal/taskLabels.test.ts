import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { expect, it } from "vitest"
import { TaskLabels } from "../../src/internal/run/plain.ts"

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
