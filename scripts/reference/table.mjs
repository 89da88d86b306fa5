// @ts-check
// Tables of Markdown as dprint formats them.

/** Wide characters count as one, as in dprint for the characters that are used here. @param {string} text */
const escape = (text) => text.replaceAll("\n", " ").replaceAll(/(?<!\\)\|/g, "\\|").trim()

/** @param {ReadonlyArray<string>} head @param {ReadonlyArray<ReadonlyArray<string>>} rows */
export const table = (head, rows) => {
  const all = [head, ...rows].map((row) => row.map(escape))
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => [...row[at] ?? ""].length)))
  const line = (/** @type {ReadonlyArray<string>} */ row) =>
    `| ${row.map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - [...cell].length)).join(" | ")} |`
  const [first = [], ...others] = all
  return [line(first), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...others.map(line)].join("\n")
}
