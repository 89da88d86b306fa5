// @ts-check
// How long trees were without a server, as a drawing: a dot for each of them, and a line at each median.

const width = 760
const left = 110
const right = 30
const row = 46
const top = 56

const style = `
  svg { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
  .page { fill: #ffffff; stroke: #d0d7de; } .text { fill: #1f2328; } .dim { fill: #59636e; } .grid { stroke: #d1d9e0; }
  .dot { fill: #1a7f6b; fill-opacity: .55; } .median { stroke: #1a7f6b; stroke-width: 2; } .target { stroke: #cf222e; stroke-dasharray: 4 3; }
  .goal { fill: #cf222e; } .title { font-size: 15px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d; } .text { fill: #f0f6fc; } .dim { fill: #9198a1; } .grid { stroke: #2f353d; }
    .dot { fill: #3fb89f; } .median { stroke: #3fb89f; } .target { stroke: #ff7b72; } .goal { fill: #ff7b72; }
  }`

/** What 95 % of the trees should not exceed (s). */
const target = 5

/** @param {ReadonlyArray<number>} values */
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/**
 * @param {ReadonlyMap<string, ReadonlyArray<number>>} times in milliseconds, by what happened
 * @param {string} source what was measured
 */
export const recoveryFigure = (times, source) => {
  const longest = Math.max(target + 1, ...[...times.values()].flat().map((time) => Math.ceil(time / 1_000)))
  const x = (/** @type {number} */ seconds) => (left + seconds / longest * (width - left - right)).toFixed(1)
  const end = top + times.size * row
  const every = Math.ceil(longest / 12)
  const grid = Array.from({ length: Math.floor(longest / every) + 1 }, (_, at) => at * every).map((seconds) =>
    `<line x1="${x(seconds)}" x2="${x(seconds)}" y1="${top}" y2="${end}" class="grid"/><text x="${x(seconds)}" y="${
      end + 16
    }" class="dim" text-anchor="middle">${seconds} s</text>`
  )
  const rows = [...times].map(([how, all], at) => {
    const y = top + at * row + row / 2
    // A golden ratio spreads the dots of a row evenly over its height.
    const dots = all.map((time, nth) =>
      `<circle cx="${x(time / 1_000)}" cy="${(y + ((nth * 0.618) % 1 - 0.5) * 24).toFixed(1)}" r="3" class="dot"/>`
    )
    const at50 = x(middle(all) / 1_000)
    return `<text x="20" y="${y + 4}" class="text">${how}</text>${dots.join("")}<line x1="${at50}" x2="${at50}" y1="${
      y - 18
    }" y2="${y + 18}" class="median"/>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${end + 50}" viewBox="0 0 ${width} ${
      end + 50
    }" role="img" aria-labelledby="title">`,
    "<title id=\"title\">How long trees were without a server</title>",
    `<style>${style}\n</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${end + 49}" rx="8" class="page"/>`,
    "<text x=\"20\" y=\"28\" class=\"text title\">How long trees were without a server</text>",
    `<text x="${x(target)}" y="${top - 6}" class="goal" text-anchor="middle">95 % below ${target} s</text>`,
    ...grid,
    `<line x1="${x(target)}" x2="${x(target)}" y1="${top}" y2="${end}" class="target"/>`,
    ...rows,
    `<text x="20" y="${end + 38}" class="dim">A dot for each tree, a line at the median. ${source}</text>`,
    "</svg>\n"
  ].join("\n")
}
