// @ts-check
// What happens in which run of several servers on one PostgreSQL.
import { chance } from "./chance.mjs"

/** @typedef {import("./runners.mjs").RunnersPlan} RunnersPlan */

/**
 * In each run one runner is killed, one is frozen and one leaves, at random instants. @param {number} count @param
 * {number} span how long a run takes that nobody disturbs, in milliseconds @param {number} frozen @param {number} trees
 * @returns {ReadonlyArray<RunnersPlan>}
 */
export const runnersPlans = (count, span, frozen, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(9_000_001 + at)
    const which = /** @type {const} */ ([0, 1, 2]).toSorted(() => dice.next() - 0.5)
    const blows = /** @type {const} */ (["kill", "freeze", "leave"]).map((how, nth) => ({
      how,
      runner: which[nth] ?? nth,
      at: Math.round(dice.next() * span)
    }))
    const label = blows.map(({ at: when, how, runner }) => `${how} ${runner} after ${when} ms`).join(", ")
    return { label, blows, frozen, trees }
  })

/**
 * Freezes the first of three runners at each of these points, until long after another one has its tree. @param
 * {ReadonlyArray<string>} points @param {number} frozen @returns {ReadonlyArray<RunnersPlan>}
 */
export const pointPlans = (points, frozen = 24_000) =>
  points.map((point) => ({
    label: `frozen at ${point}`,
    blows: [],
    frozen,
    trees: 1,
    point: `${point}:freeze`
  }))

/** Restarts PostgreSQL every 5 to 20 seconds. @param {number} count @param {number} trees @returns {ReadonlyArray<RunnersPlan>} */
export const restartPlans = (count, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(11_000_001 + at)
    let when = dice.next() * 5_000
    const restarts = Array.from({ length: 4 }, () => Math.round(when += 5_000 + dice.next() * 15_000))
    return { label: `PostgreSQL restarted after ${restarts.join(", ")} ms`, blows: [], frozen: 0, trees, restarts }
  })

/**
 * One runner has too few slots for the agents of all trees, and two more join it while they work. @param {number} count @param
 * {number} trees @returns {ReadonlyArray<RunnersPlan>}
 */
export const joinPlans = (count, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(15_000_001 + at)
    const first = Math.round(1_000 + dice.next() * 4_000)
    const blows = [first, first + 4_000].map((when, nth) => ({
      how: /** @type {const} */ ("join"),
      runner: nth + 1,
      at: when
    }))
    return {
      label: `join after ${blows.map(({ at: when }) => when).join(" and ")} ms`,
      blows,
      frozen: 0,
      slots: 1,
      trees
    }
  })

/**
 * The same blow twice in each run. @param {import("./blows.mjs").How} how @param {number} count @param {number} span @param
 * {number} trees @returns {ReadonlyArray<RunnersPlan>}
 */
export const samePlans = (how, count, span, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(13_000_001 + at)
    const first = Math.round(dice.next() * span / 2)
    const blows = [first, first + 12_000].map((when) => ({ how, runner: Math.floor(dice.next() * 3), at: when }))
    return { label: `${how} after ${blows.map(({ at: when }) => when).join(" and ")} ms`, blows, frozen: 0, trees }
  })

/** How long PostgreSQL is silent for a runner (ms), in which direction, and on which connections. */
const lengths = [4_000, 12_000, 20_000, 60_000]
const directions = /** @type {const} */ (["both", "to", "from"])
const connections = [undefined, "skein-leases", "skein"]

/**
 * One runner after the other hears nothing of PostgreSQL, or is not heard. Every length comes with every direction, and with
 * all connections or some. @param {number} count @param {number} span @param {number} trees
 * @returns {ReadonlyArray<RunnersPlan>}
 */
export const silencePlans = (count, span, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(17_000_001 + at)
    const length = lengths[at % lengths.length] ?? 0
    const direction = directions[at % directions.length] ?? "both"
    const only = connections[Math.floor(at / 4) % connections.length]
    const first = Math.round(dice.next() * span / 2)
    const blows = [first, first + length + 4_000].map((when) => ({
      how: /** @type {const} */ ("silence"),
      runner: dice.upTo(3) - 1,
      at: when,
      quiet: { length, direction, only }
    }))
    const label = `silence of ${length} ms ${direction}, ${only ?? "all"} connections, ${
      blows.map(({ at: when, runner }) => `at ${runner} after ${when} ms`).join(" and ")
    }`
    return { label, blows, frozen: 0, trees }
  })
