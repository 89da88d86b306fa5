import { describe, expect, it } from "@effect/vitest"
import { WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { makeBring } from "../../src/internal/moves.ts"
import { awayText, type Place } from "../../src/internal/places.ts"

const id = "ses_1" as SessionID
const away: Place = { _tag: "Away", host: "alpha", directory: "/srv/a" }
const kept: Place = { ...away, isKept: true }

/** Asks for a tree that is at these places, one after the other, and gives what happened after some seconds. */
const asked = (places: ReadonlyArray<Place>, refusal?: WorkspaceRefused["reason"]) =>
  Effect.gen(function*() {
    let looks = 0
    let moves = 0
    let noted = 0
    const of = () => Effect.sync(() => places[Math.min(looks++, places.length - 1)]!)
    const move = () =>
      Effect.suspend(() => {
        moves++
        expect(noted, "where it was is noted before it moves").toBe(moves)
        return refusal === undefined ? Effect.void : new WorkspaceRefused({ reason: refusal, message: "no" })
      })
    const fiber = yield* Effect.fork(makeBring({ of }, move, () => Effect.sync(() => void noted++))(id))
    yield* TestClock.adjust("4900 millis")
    const early = moves
    yield* TestClock.adjust("1 second")
    return { isHere: yield* Fiber.join(fiber), early, moves }
  })

describe("a tree whose steps are kept", () => {
  it.effect("moves once its host was gone for 5 seconds", () =>
    Effect.gen(function*() {
      expect(yield* asked([kept])).toEqual({ isHere: true, early: 0, moves: 1 })
    }))

  it.effect("stays if its host comes back meanwhile, or another server has it", () =>
    Effect.gen(function*() {
      expect(yield* asked([kept, kept, { _tag: "There", url: "http://a" }])).toMatchObject({ isHere: false, moves: 0 })
    }))

  it.effect("does not move if its steps are not kept", () =>
    Effect.gen(function*() {
      expect(yield* asked([away])).toMatchObject({ isHere: false, moves: 0 })
    }))

  it.effect("is not here if its step cannot be fetched, unless another request has brought it here", () =>
    Effect.gen(function*() {
      expect(yield* asked([kept], "failed")).toMatchObject({ isHere: false, moves: 1 })
      const looks = Array.from({ length: 11 }, () => kept)
      expect(yield* asked([...looks, { _tag: "Here" }], "superseded")).toMatchObject({ isHere: true, moves: 1 })
    }))
})

it("what a tree waits for names the setting that lets it move", () => {
  const text = (place: Place) => place._tag === "Away" ? awayText(id, place) : ""
  expect(text(kept)).toContain("if `workspace` is \"git\" in the config")
  expect(text(away)).not.toContain("workspace")
})
