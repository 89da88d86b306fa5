/** Proves that a list shows first what needs a person. */
import type { ListedSession } from "@skein/domain/TreeSnapshot"
import { PendingAsks } from "@skein/view/PendingAsks"
import { grouped, placeOf, type SessionRow } from "@skein/view/SessionGroups"
import { expect, it } from "vitest"
import { Story } from "./support/story.ts"

const row = (more: object, asks = 0, worksBelow = false): SessionRow => ({
  session: { ...new Story().first, status: { type: "idle" }, turn: undefined, ...more } as unknown as ListedSession,
  asks,
  worksBelow
})
const ended = (how: string, more: object = {}) => ({ turn: { began: 0, ended: { at: 1, how, ...more } } })

it.each([
  [row({}, 2), "needs you", "2 questions"],
  [row({ status: { type: "busy", step: 3 } }), "running", "step 4"],
  [row({ status: { type: "compacting" } }), "running", "summarises"],
  [row(ended("completed"), 0, true), "running", "its tasks work in the background"],
  [row({ status: { type: "queued", position: 2 } }), "waiting", "queued, place 2"],
  [row({ status: { type: "retry", attempt: 1, message: "429", next: 5 } }), "waiting", "retry 1: 429"],
  [
    row({ status: { type: "stuck", cause: "msg_1 cannot be read" } }),
    "failed",
    "cannot be continued: msg_1 cannot be read. Servers try again from time to time"
  ],
  [row({ status: { type: "away", host: "alpha", directory: "/w" } }), "waiting", "for a server on the host alpha"],
  [row({ turn: { began: 0 } }), "waiting", "interrupted"],
  [
    row({ status: { type: "elsewhere", url: "http://10.0.0.2:4096" }, turn: { began: 0 } }),
    "running",
    "works at another server, 10.0.0.2:4096"
  ],
  [row(ended("failed", { error: { tag: "x", message: "No key." } })), "failed", "No key."],
  [row(ended("stopped")), "done", "stopped"],
  [row(ended("completed")), "done", ""],
  [row({}), "drafts", "not begun"]
])("a session is where its state says: %#", (each, group, why) => {
  expect(placeOf(each)).toEqual({ group, why })
})

it("the groups come in their order, and in each the latest change first", () => {
  const at = (updated: number, more: object = ended("completed")) => row({ ...more, time: { created: 0, updated } })
  const rows = [at(1), at(3), at(2, { status: { type: "busy", step: 1 } }), { ...at(9), asks: 1 }]
  expect(grouped(rows).map(({ group, rows: of }) => [group, of.map(({ session }) => session.time.updated)])).toEqual([
    ["needs you", [9]],
    ["running", [2]],
    ["done", [3, 1]]
  ])
})

it("questions wait until they are answered, or their session has ended", () => {
  const story = new Story()
  story.delegate("a", "root")
  const asks = new PendingAsks()
  story.ask("root", "per_1")
  story.ask("a", "per_2")
  story.tell("root", "question.asked", { id: "prt_1", sessionID: "ses_root", rootID: "ses_root", question: "Which?" })
  for (const event of story.events) asks.see(event)
  expect(asks.all.map(({ id, type }) => [id, type])).toEqual([
    ["per_1", "permission"],
    ["per_2", "permission"],
    ["prt_1", "question"]
  ])
  expect(asks.perTree).toEqual(new Map([["ses_root", 3]]))
  const before = story.events.length
  story.reply("root", "per_1")
  story.settle("a", "lost")
  for (const event of story.events.slice(before)) asks.see(event)
  expect(asks.all.map(({ id }) => id)).toEqual(["prt_1"])
})
