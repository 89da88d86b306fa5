// @ts-check
// The results as a Markdown table.
import { peers } from "./peers.mjs"
import { fields } from "./scenarios.mjs"

/** @param {import("./scenarios.mjs").Field} field @param {number} value */
export const written = (field, value) => value.toFixed(fields[field][1])

/** @param {import("./results.mjs").Row} row @param {string} peer */
const cell = ({ cells, field }, peer) => {
  const found = cells.find((candidate) => candidate.peer === peer)
  if (found === undefined) return ""
  if (found.value === undefined) return found.correct === 0 ? "failed" : ""
  const ratio = found.ratio === undefined || peer === "raw" ? "" : ` (${found.ratio.toFixed(1)} ×)`
  const failed = found.correct < found.runs ? `, ${found.runs - found.correct} of ${found.runs} failed` : ""
  return `${written(field, found.value)}${ratio}${failed}`
}

/** @param {ReadonlyArray<ReadonlyArray<string>>} rows the first of them is the head */
const markdown = (rows) => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? "").length)))
  const line = (/** @type {ReadonlyArray<string>} */ cells) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`
  return [line(rows[0] ?? []), rule, ...rows.slice(1).map(line)].join("\n")
}

/**
 * @param {ReadonlyArray<import("./results.mjs").Row>} rows
 * @param {import("./results.mjs").Setting} setting
 */
export const table = (rows, { date, machine, reps }) => {
  const names = Object.keys(peers).filter((name) => rows.some(({ cells }) => cells.some(({ peer }) => peer === name)))
  const head = ["scenario", "what", "measured", ...names, "target", "reached"]
  const body = rows.map((row) => [
    row.drawn ? row.spec : "",
    row.drawn ? row.title : "",
    fields[row.field][0],
    ...names.map((name) => cell(row, name)),
    row.target?.says ?? "",
    row.target === undefined || !row.cells.some(({ peer }) => peer === "skein")
      ? ""
      : row.target.met
      ? "yes"
      : "no"
  ])
  return [
    `Measured ${date} on ${machine}; medians of ${reps}; in brackets the ratio to \`raw\` in the same benchmark.`,
    markdown([head, ...body]),
    ...names.map((name) => `- \`${name}\`: ${peers[name]?.says}`)
  ].join("\n\n").replaceAll("\n\n- ", "\n- ").replace("|\n- ", "|\n\n- ") + "\n"
}
