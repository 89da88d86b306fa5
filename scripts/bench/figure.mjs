// @ts-check
// The results as a drawing: for each scenario a bar for each system, as long as its ratio to the raw loop.
import { fields } from "./scenarios.mjs"
import { written } from "./table.mjs"

const width = 900
const left = 310
const right = 140
const bar = 13
const step = bar + 4
const gap = 26
const top = 62

// It has its own background, because it may be shown on any page, light or dark.
const style = `
  svg { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
  .page { fill: #ffffff; stroke: #d0d7de; } .text { fill: #1f2328; } .dim { fill: #59636e; } .grid { stroke: #d1d9e0; }
  .raw { fill: #9aa4af; } .aisdk { fill: #c78a1b; } .skein { fill: #1a7f6b; } .target { stroke: #cf222e; } .goal { fill: #cf222e; }
  .strong { font-weight: 600; } .title { font-size: 15px; font-weight: 600; } .target { stroke-width: 1.5; stroke-dasharray: 4 3; }
  .value { stroke: #ffffff; stroke-width: 4; paint-order: stroke; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d; } .text { fill: #f0f6fc; } .dim { fill: #9198a1; } .grid { stroke: #2f353d; }
    .raw { fill: #6e7781; } .aisdk { fill: #d29922; } .skein { fill: #3fb89f; } .target { stroke: #ff7b72; } .goal { fill: #ff7b72; }
    .value { stroke: #0d1117; }
  }`

/** @param {string} text */
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** @param {number} x @param {number} y @param {string} look @param {string} content @param {string} more */
const text = (x, y, look, content, more = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${look}"${more}>${escape(content)}</text>`

/** @param {number} x @param {number} from @param {number} to @param {string} look */
const vertical = (x, from, to, look) =>
  `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${from}" y2="${to}" class="${look}"/>`

/**
 * @param {ReadonlyArray<import("./results.mjs").Row>} all
 * @param {import("./results.mjs").Setting} setting
 */
export const figure = (all, { date, machine, reps }) => {
  const rows = all.filter(({ cells, drawn }) => drawn && cells.some(({ ratio }) => ratio !== undefined))
  const ratios = rows.flatMap(({ cells, target }) => [
    ...cells.flatMap(({ ratio }) => ratio ?? []),
    ...(target?.ratio === undefined ? [] : [target.ratio])
  ])
  const longest = Math.max(2, Math.ceil(Math.max(...ratios)))
  const x = (/** @type {number} */ ratio) => left + ratio / longest * (width - left - right)

  /** @type {Array<string>} */
  const groups = []
  let y = top + 14
  for (const { cells, field, spec, target, title } of rows) {
    const bars = cells.filter(({ ratio }) => ratio !== undefined)
    const height = Math.max(2, bars.length) * step - 4
    const goal = target?.ratio === undefined ? [] : [
      vertical(x(target.ratio), y - 4, y + height + 4, "target"),
      text(x(target.ratio), y - 7, "goal", target.says, " text-anchor=\"middle\" font-size=\"10\"")
    ]
    groups.push(
      text(20, y + 11, "text strong", spec),
      text(82, y + 11, "text", title.replaceAll("`", "")),
      text(82, y + 27, "dim", fields[field][0]),
      ...bars.map(({ peer, ratio = 0 }, index) =>
        `<rect x="${left}" y="${y + index * step}" width="${
          (x(ratio) - left).toFixed(1)
        }" height="${bar}" rx="2" class="${peer}"/>`
      ),
      ...goal,
      ...bars.map(({ peer, ratio = 0, value = 0 }, index) => {
        const says = `${peer} ${ratio.toFixed(1)} × (${written(field, value)})`
        const look = `value ${peer === "skein" ? "text strong" : "dim"}`
        return text(x(ratio) + 6, y + index * step + bar - 2.5, look, says)
      })
    )
    y += height + gap
  }
  const end = y - gap + 10
  const every = longest > 10 ? 2 : 1
  const marks = Array.from({ length: Math.floor(longest / every) + 1 }, (_, index) => index * every)
  const grid = marks.flatMap((ratio) => [
    vertical(x(ratio), top, end, "grid"),
    text(x(ratio), end + 14, "dim", `${ratio} ×`, " text-anchor=\"middle\" font-size=\"10\"")
  ])
  const height = end + 42
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    "<title id=\"title\">How long each system takes, as a multiple of a bare loop over fetch</title>",
    `<style>${style}\n</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" class="page"/>`,
    text(20, 28, "text title", "Multiples of a bare loop over fetch"),
    text(20, 47, "dim", "Shorter is better. Dashed: the target for Skein. In brackets the measurement itself."),
    ...grid,
    ...groups,
    text(20, height - 10, "dim", `${date}, ${machine}, medians of ${reps}`, " font-size=\"10\""),
    "</svg>\n"
  ].join("\n")
}
