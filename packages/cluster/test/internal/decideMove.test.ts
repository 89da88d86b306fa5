import type { SessionID } from "@skein/domain/Id"
import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { bestMove, type Movable, MoveDecision } from "../../src/internal/balance.ts"

const tree = (name: string | number, slots: number): Movable => ({ rootID: `ses_${name}` as SessionID, slots })
const at = (url: string, wanted: number, limit = 8) => ({ url, wanted, limit })

describe("the best move", () => {
  const trees = [tree("a", 6), tree("b", 3), tree("c", 3)]

  it("takes the largest tree for which the runner with most room has room", () => {
    expect(bestMove(at("own", 12), trees, [at("x", 4), at("y", 3)])).toEqual({ ...tree("b", 3), url: "y" })
    expect(bestMove(at("own", 12), trees, [at("y", 2)])).toEqual({ ...tree("a", 6), url: "y" })
  })

  it("is none without agents that wait because of the limit, without room, or without a clear imbalance", () => {
    expect(bestMove(at("own", 8), trees, [at("x", 0)])).toBeUndefined()
    expect(bestMove(at("own", 12), trees, [at("x", 6)])).toBeUndefined()
    expect(bestMove(at("own", 12), trees, [at("x", 8, 10)])).toBeUndefined()
    expect(bestMove(at("own", 12), [tree("none", 0)], [at("x", 0)])).toBeUndefined()
    expect(bestMove(at("own", 12), trees, [])).toBeUndefined()
  })
})

describe("the decision to move", () => {
  const own = at("own", 12)
  const trees = [tree("a", 3)]
  const others = [at("x", 0)]

  it("waits until the imbalance has lasted, and as long again for the next tree", () => {
    const decision = new MoveDecision()
    const moves = [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]
      .filter((now) => decision.next(now, own, trees, others) !== undefined)
    expect(moves).toEqual([3_000, 7_000])
  })

  it("begins anew when the imbalance ends meanwhile", () => {
    const decision = new MoveDecision()
    decision.next(0, own, trees, others)
    decision.next(2_000, at("own", 8), trees, others)
    expect(decision.next(3_000, own, trees, others)).toBeUndefined()
    expect(decision.next(6_000, own, trees, others)).toMatchObject({ url: "x" })
  })

  it("leaves alone for a while which tree has moved, and which runner took nothing", () => {
    const decision = new MoveDecision()
    decision.rest(tree("a", 3).rootID, 0)
    const first = (from: number) => {
      for (let now = from;; now += 1_000) if (decision.next(now, own, trees, others) !== undefined) return now
    }
    expect(first(0)).toBe(33_000)
    decision.leaveAlone("x", 33_000)
    expect(first(33_000)).toBe(46_000)
  })
})

/** A number generator, so that each run can be repeated. */
const random = (seed: number) => {
  let state = seed >>> 0
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

interface Tree {
  slots: number
  at: number
  readonly moves: Array<number>
}

/**
 * Runners that decide with loads from up to a second ago, ask before a tree moves, and need some seconds for that. The load of
 * trees changes at first, and then stays the same; at some time a runner without trees joins.
 */
const simulate = (seed: number, { calmAt, end, joinAt, runners, trees: count }: {
  readonly runners: number
  readonly trees: number
  readonly calmAt: number
  readonly joinAt: number
  readonly end: number
}) => {
  const pick = random(seed)
  const limits = Array.from({ length: runners }, () => 2 + pick(7))
  const decisions = limits.map(() => new MoveDecision())
  const trees: Array<Tree> = Array.from(
    { length: count },
    () => ({ slots: pick(5), at: pick(runners - 1), moves: [] })
  )
  const flights: Array<{ readonly tree: Tree; readonly to: number; readonly slots: number; readonly until: number }> =
    []
  const wantedAt = (runner: number) =>
    trees.reduce((sum, { at: where, slots }) => where === runner ? sum + slots : sum, 0)
  const keptAt = (runner: number) => flights.reduce((sum, { slots, to }) => to === runner ? sum + slots : sum, 0)
  const idOf = (which: number) => tree(which, 0).rootID
  let seen = limits.map(() => 0)

  for (let now = 0; now < end; now += 500) {
    for (const flight of flights.filter(({ until }) => until <= now)) {
      flights.splice(flights.indexOf(flight), 1)
      flight.tree.at = flight.to
      flight.tree.moves.push(now)
      decisions[flight.to]?.rest(idOf(trees.indexOf(flight.tree)), now)
    }
    if (now < calmAt) { for (const each of trees) if (pick(20) === 0) each.slots = pick(5) }
    const present = limits.map((_, runner) => runner).filter((runner) => now >= joinAt || runner < runners - 1)
    for (const runner of present) {
      if (flights.some((flight) => flight.tree.at === runner)) continue
      const own = { limit: limits[runner] ?? 0, wanted: wantedAt(runner) }
      const movable = trees.flatMap(({ at: where, slots }, which) => where === runner ? [tree(which, slots)] : [])
      const others = present.filter((other) => other !== runner)
        .map((other) => at(String(other), seen[other] ?? 0, limits[other]))
      const move = decisions[runner]?.next(now, own, movable, others)
      const moved = trees.find((_, which) => idOf(which) === move?.rootID)
      if (move === undefined || moved === undefined) continue
      const to = Number(move.url)
      // What the other one answers.
      if (wantedAt(to) + keptAt(to) + move.slots > (limits[to] ?? 0)) decisions[runner]?.leaveAlone(move.url, now)
      else flights.push({ tree: moved, to, slots: move.slots, until: now + 500 + pick(5) * 500 })
    }
    if (now % 1_000 === 0) seen = limits.map((_, runner) => wantedAt(runner) + keptAt(runner))
  }
  const loads = limits.map((limit, runner) => ({ url: String(runner), limit, wanted: wantedAt(runner) }))
  const open = loads.flatMap((own, runner) =>
    bestMove(
      own,
      trees.flatMap(({ at: where, slots }, which) => where === runner ? [tree(which, slots)] : []),
      loads.filter((_, other) => other !== runner)
    ) ?? []
  )
  return { trees, open, loads }
}

const plan = fc.record({
  seed: fc.nat(),
  runners: fc.integer({ min: 2, max: 6 }),
  trees: fc.integer({ min: 1, max: 24 })
})

describe("runners that move trees", () => {
  it("never move a tree to and fro, and come to an end, while the load changes and a runner joins", () => {
    let moved = 0
    fc.assert(
      fc.property(plan, ({ seed, ...size }) => {
        const { open, trees } = simulate(seed, { ...size, calmAt: 120_000, joinAt: 60_000, end: 400_000 })
        for (const { moves } of trees) {
          moved += moves.length
          for (const [which, time] of moves.slice(1).entries()) {
            expect(time - (moves[which] ?? 0)).toBeGreaterThanOrEqual(30_000)
          }
          // What has moved under the same load stays.
          expect(moves.filter((time) => time > 125_000).length).toBeLessThanOrEqual(1)
        }
        expect(open).toEqual([])
      }),
      { numRuns: 60, seed: 11 }
    )
    expect(moved).toBeGreaterThan(100)
  })

  it("never give a runner more than it may do, while only moves change the load", () => {
    fc.assert(
      fc.property(plan, ({ seed, ...size }) => {
        const before = simulate(seed, { ...size, calmAt: 0, joinAt: 0, end: 0 })
        const { loads, open } = simulate(seed, { ...size, calmAt: 0, joinAt: 0, end: 300_000 })
        for (const [runner, { limit, wanted }] of loads.entries()) {
          expect(wanted).toBeLessThanOrEqual(Math.max(limit, before.loads[runner]?.wanted ?? 0))
        }
        expect(open).toEqual([])
      }),
      { numRuns: 60, seed: 12 }
    )
  })
})
