// @ts-check
// The results of runs, as a table and as lines.

/** What a client says if its tree never ends. */
export const notEnded = "the turn did not end"

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/** @typedef {{ readonly kind: string, readonly runs: number, readonly kills: number, readonly unknown: number, readonly lost: number, readonly doubled: number, readonly stuck: number, readonly invalid: number }} Row */

/** @param {string} fault */
const isStuck = (fault) => fault.includes(notEnded)

/** @param {string} kind @param {ReadonlyArray<Verdict>} verdicts @returns {Row} */
export const rowOf = (kind, verdicts) => {
  const sum = (/** @type {(verdict: Verdict) => number} */ of) => verdicts.reduce((total, each) => total + of(each), 0)
  return {
    kind,
    runs: verdicts.length,
    kills: sum(({ kills }) => kills),
    unknown: sum(({ unknown }) => unknown),
    lost: sum(({ lost }) => lost.length),
    doubled: sum(({ doubled }) => doubled.length),
    stuck: sum(({ invalid }) => invalid.filter(isStuck).length),
    invalid: sum(({ invalid }) => invalid.filter((fault) => !isStuck(fault)).length)
  }
}

/** @type {ReadonlyArray<readonly [head: string, cell: (row: Row) => string]>} */
const columns = [
  ["killed", ({ kind }) => kind],
  ["runs", ({ runs }) => String(runs)],
  ["kills", ({ kills }) => String(kills)],
  ["reported as unknown", ({ unknown }) => String(unknown)],
  ["lost", ({ lost }) => String(lost)],
  ["doubled", ({ doubled }) => String(doubled)],
  ["stuck", ({ stuck }) => String(stuck)],
  ["invalid", ({ invalid }) => String(invalid)]
]

/** A table in Markdown. @param {ReadonlyArray<Row>} rows */
export const table = (rows) =>
  drawn([columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))])

/** @param {ReadonlyArray<ReadonlyArray<string>>} cells the first line is the head */
const drawn = (cells) => {
  const widths = (cells[0] ?? []).map((_, at) => Math.max(3, ...cells.map((line) => (line[at] ?? "").length)))
  const line = (/** @type {ReadonlyArray<string>} */ words) =>
    `| ${words.map((word, at) => word.padEnd(widths[at] ?? 0)).join(" | ")} |`
  const [head = [], ...body] = cells
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n")
}

/** What was wrong with a run, a line for each thing. @param {Verdict} verdict */
export const faultsOf = ({ doubled, invalid, lost }) => [
  ...lost.map((what) => `lost: ${what}`),
  ...doubled.map((what) => `doubled: ${what}`),
  ...invalid.map((what) => `invalid: ${what}`)
]

/** @param {ReadonlyArray<number>} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0

/** @param {number} milliseconds */
const seconds = (milliseconds) => `${(milliseconds / 1_000).toFixed(1)} s`

/** How long trees were without a server, as a table. @param {ReadonlyMap<string, ReadonlyArray<number>>} times in milliseconds, by what happened */
export const recoveryTable = (times) =>
  drawn([
    ["what happened", "trees", "median", "95 %", "longest"],
    ...[...times].map(([how, all]) => {
      const sorted = all.toSorted((a, b) => a - b)
      const figures = [0.5, 0.95, 1].map((share) => seconds(quantile(sorted, share)))
      return [how, String(all.length), ...figures]
    })
  ])
