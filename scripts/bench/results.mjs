// @ts-check
// The medians of a benchmark, compared with the raw loop and with the targets.
import { median } from "./measure.mjs"
import { fields, scenario, targets } from "./scenarios.mjs"

/**
 * @typedef {import("./scenarios.mjs").Field} Field
 * @typedef {import("./scenarios.mjs").Figures} Figures
 * @typedef {import("./measure.mjs").Run & { readonly spec: string, readonly peer: string }} Result
 * @typedef {{ readonly date: string, readonly machine: string, readonly reps: number }} Setting
 * @typedef {{
 *   readonly peer: string,
 *   readonly runs: number,
 *   readonly correct: number,
 *   readonly value: number | undefined,
 *   readonly ratio: number | undefined
 * }} Cell
 * @typedef {{
 *   readonly spec: string,
 *   readonly title: string,
 *   readonly field: Field,
 *   readonly drawn: boolean,
 *   readonly cells: ReadonlyArray<Cell>,
 *   readonly target: { readonly says: string, readonly ratio: number | undefined, readonly met: boolean } | undefined
 * }} Row one figure of one scenario; ratios are to the raw loop
 */

/**
 * @param {ReadonlyArray<Result>} results
 * @returns {ReadonlyArray<Row>} in the order in which the scenarios were run
 */
export const summarise = (results) => {
  const specs = [...new Set(results.map(({ spec }) => spec))]
  const peers = [...new Set(results.map(({ peer }) => peer))]
  const of = (/** @type {string} */ peer, /** @type {string} */ spec) =>
    results.filter((result) => result.peer === peer && result.spec === spec)
  /** @param {string} peer @param {string} spec @param {Field} field */
  const middle = (peer, spec, field) =>
    median(of(peer, spec).filter(({ correct }) => correct).flatMap((run) => run[field] ?? []))

  return specs.flatMap((spec) => {
    const { base = spec, measures, title } = /** @type {import("./scenarios.mjs").Scenario} */ (scenario(spec))
    return measures.map((field, index) => {
      const raw = middle("raw", base, field)
      const cells = peers.flatMap((peer) => {
        const runs = of(peer, spec)
        if (runs.length === 0) return []
        const value = middle(peer, spec, field)
        const ratio = value === undefined || raw === undefined || raw === 0 || !fields[field][2]
          ? undefined
          : value / raw
        return [{ peer, runs: runs.length, correct: runs.filter(({ correct }) => correct).length, value, ratio }]
      })
      const skein = cells.find(({ peer }) => peer === "skein")?.value
      const wanted = targets[spec]?.[field]
      const limit = wanted?.limit(raw, middle("skein", base, field))
      const target = wanted === undefined || limit === undefined ? undefined : {
        says: wanted.says,
        ratio: raw === undefined || raw === 0 ? undefined : limit / raw,
        met: skein !== undefined && (wanted.atLeast === true ? skein >= limit : skein <= limit)
      }
      return { spec, title, field, drawn: index === 0, cells, target }
    })
  })
}
