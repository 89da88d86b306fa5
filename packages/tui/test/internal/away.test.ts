/** Proves that a terminal says when nobody continues its session, and why. */
import { expect, it } from "vitest"
import { Seat } from "../support/seat.ts"

const status = (type: string) => ({ status: { type, step: 1, host: "al\u001b[31mpha", directory: "/work" } })

it("a session that waits for its host says so in a line that stays and in the status line, until it continues", async () => {
  const seat = new Seat(true, {}, 160).tell("session.status", status("away"))
  const host = "the host al\\x1b[31mpha"
  expect(seat.below).toContain(`waits for ${host}`)
  expect(seat.model.isWorking).toBe(false)
  seat.tell("session.status", status("away")).tell("session.status", status("busy"))
  expect(seat.below).not.toContain("waits for the host")
  const waits = `waits for a server on ${host}: its directory is /work there`
  expect((await seat.lines()).filter((line) => line.includes("waits"))).toEqual([`> ${waits}`, `> no longer ${waits}`])
})

it("a session that cannot be continued says why, once for each time, until it can be", async () => {
  const stuck = { status: { type: "stuck", cause: "msg_1 cannot be read (al\u001b[31mpha)" } }
  const seat = new Seat(true, {}, 160).tell("session.status", stuck).tell("session.status", stuck)
  expect(seat.below).toContain("cannot be continued")
  expect(seat.model.isWorking).toBe(false)
  seat.tell("session.status", status("busy"))
  expect(seat.below).not.toContain("cannot be continued")
  expect((await seat.lines()).filter((line) => line.includes("continued"))).toEqual([
    "> cannot be continued: msg_1 cannot be read (al\\x1b[31mpha). Servers try again from time to time",
    "> can be continued again"
  ])
})
