// @ts-check
// The results of runs, as a table and as lines.

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/** @typedef {{ readonly kind: string, readonly runs: number, readonly kills: number, readonly unknown: number, readonly lost: number, readonly doubled: number, readonly invalid: number }} Row */

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
    invalid: sum(({ invalid }) => invalid.length)
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
  ["invalid", ({ invalid }) => String(invalid)]
]

/** A table in Markdown. @param {ReadonlyArray<Row>} rows */
export const table = (rows) => {
  const cells = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))]
  const widths = columns.map((_, at) => Math.max(3, ...cells.map((line) => (line[at] ?? "").length)))
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
