/** Proves that a terminal says when its session waits for the host of its directory. */
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
