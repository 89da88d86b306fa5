// @ts-check
// Plans and runs the jobs: each point with several seeds, and random instants.
import { chance } from "./chance.mjs"
import { points } from "./points.mjs"

/** @typedef {import("./drive.mjs").Plan} Plan */
/** @typedef {import("./drive.mjs").Verdict} Verdict */

const names = Object.keys(points)

/**
 * Kills at each point, once for each seed. The first seed kills where the script comes by for the first time, the
 * others anywhere; every second of them kills again while the session is continued. @param {number} seeds @returns
 * {ReadonlyArray<Plan>}
 */
export const atPoints = (seeds) =>
  Array.from({ length: seeds }, (_, seed) => seed).flatMap((seed) =>
    names.map((name, index) => {
      const dice = chance(1 + seed * names.length + index)
      const { times = 1, variant } = points[name] ?? {}
      const first = `${name}:${seed === 0 ? 1 : dice.upTo(times)}`
      const again = dice.of(names)
      const second = `${again}:${dice.upTo(Math.min(8, points[again]?.times ?? 1))}`
      const deaths = [{ failpoint: first }, ...(seed % 2 === 1 ? [{ failpoint: second }] : [])]
      return { label: deaths.map(({ failpoint }) => failpoint).join(", "), deaths, auto: dice.next() < 0.5, variant }
    })
  )

/**
 * Kills at random instants, every second time a second time. @param {number} count @param {number} span how long a run
 * takes that nobody kills, in milliseconds @returns {ReadonlyArray<Plan>}
 */
export const atRandom = (count, span) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(1_000_003 + at)
    const instants = [dice.next() * span, ...(at % 2 === 1 ? [dice.next() * span * 0.8] : [])]
    return {
      label: instants.map((after) => `${Math.round(after)} ms`).join(", "),
      deaths: instants.map((after) => ({ after })),
      auto: dice.next() < 0.5
    }
  })

/** Whether something was lost, done twice or not as it must be. @param {Verdict} verdict */
export const isBad = ({ doubled, invalid, lost }) => lost.length + doubled.length + invalid.length > 0

/**
 * Carries out plans, several at once, until all are done or `goesOn` says no. `by` carries out one.
 * @template {{ readonly label: string }} P
 * @param {ReadonlyArray<P>} plans
 * @param {{
 *   readonly by: (plan: P & { readonly program?: string | undefined }) => Promise<Verdict>,
 *   readonly program?: string | undefined,
 *   readonly jobs: number,
 *   readonly seen: (verdict: Verdict) => boolean | void
 * }} options
 */
export const carryOut = async (plans, { by, jobs, program, seen }) => {
  /** @type {Array<Verdict>} */
  const verdicts = []
  const open = plans[Symbol.iterator]()
  let goesOn = true
  const work = async () => {
    for (const plan of open) {
      if (!goesOn) return
      const verdict = await by({ ...plan, program })
      verdicts.push(verdict)
      if (seen(verdict) === false) goesOn = false
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return verdicts
}
