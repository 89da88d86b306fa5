/** Proves that what is counted of stops tells exactly what was asked for before one, whatever the order and the tree. */
import { SessionID } from "@skein/domain/Id"
import { type InboxRow, isInert, startsLoop, stopsFor, stopsOf } from "@skein/domain/InboxRow"
import * as FastCheck from "effect/FastCheck"
import { expect, it } from "vitest"

/** The sessions of a tree: each is below the one that its number, halved, names. */
const size = 6
const idOf = (at: number) => SessionID.make(`ses_${String(at).padStart(16, "0")}`)
const above = (at: number): number | undefined => at === 0 ? undefined : Math.floor((at - 1) / 2)
const lineOf = (at: number): ReadonlyArray<number> => {
  const parent = above(at)
  return parent === undefined ? [at] : [at, ...lineOf(parent)]
}

type Kind = InboxRow["kind"] | "turn" | "run"
const kinds = ["prompt", "steer", "notification", "note", "turn", "run"] as const satisfies ReadonlyArray<Kind>
const step = FastCheck.record({
  at: FastCheck.nat({ max: size - 1 }),
  kind: FastCheck.constantFrom<"stop" | Kind>("stop", ...kinds)
})

/** What was asked for, with the count that it carries. */
interface Asked {
  readonly at: number
  readonly kind: Kind
  readonly moment: number
  readonly stops: number
}

it("what was asked for is inert exactly if its session, or one above it, was stopped later", () => {
  FastCheck.assert(FastCheck.property(FastCheck.array(step, { maxLength: 40 }), (steps) => {
    const sessions = Array.from({ length: size }, (_, at) => {
      const parent = above(at)
      return { stops: 0, ...(parent === undefined ? {} : { parentID: idOf(parent) }) }
    })
    const find = (id: SessionID) => sessions[Number(id.slice("ses_".length))]
    const countOf = (at: number) => {
      const parent = above(at)
      return { all: stopsOf(find, idOf(at)), above: parent === undefined ? 0 : stopsOf(find, idOf(parent)) }
    }
    /** The reference: when each session was stopped. */
    const stopped: Array<{ readonly at: number; readonly moment: number }> = []
    const asked: Array<Asked> = []
    for (const [moment, { at, kind }] of steps.entries()) {
      if (kind === "stop") {
        sessions[at]!.stops++
        stopped.push({ at, moment })
      } else {
        const count = countOf(at)
        asked.push({ at, kind, moment, stops: kind === "turn" || kind === "run" ? count.all : stopsFor(kind, count) })
      }
    }
    for (const { at, kind, moment, stops } of asked) {
      // A message outlives the stop of the task that has not read it: it starts its next run.
      const line = kind === "steer" ? lineOf(at).slice(1) : lineOf(at)
      const isLate = stopped.some((stop) => stop.moment > moment && line.includes(stop.at))
      const count = countOf(at)
      const isOld = kind === "turn" || kind === "run"
        ? isInert({ stops }, count.all)
        : kind !== "note" && !startsLoop({ kind, stops }, count)
      expect(isOld, `${kind} of ${at} at ${moment}`).toBe(kind !== "note" && isLate)
    }
  }))
})
