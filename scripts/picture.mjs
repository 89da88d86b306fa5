// @ts-check
// `node scripts/picture.mjs`: draws docs/picture.svg from a real run of the built program on a terminal. The run needs no key:
// the offline model surveys this clone. Needs python3 for the terminal. Run it again when the output on a terminal changes.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./layout.mjs"

/** @typedef {{ readonly text: string, readonly look: string }} Cell */

const columns = 96
const rows = 30
const prompt = "Survey this repository"

/** What a style of the terminal is called in the picture. @type {Readonly<Record<string, string>>} */
const looks = { 1: "strong", 2: "dim", 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan" }

/**
 * What a terminal shows after each complete update. It knows the few sequences that the program prints.
 * @param {string} printed
 * @returns {ReadonlyArray<ReadonlyArray<ReadonlyArray<Cell>>>}
 */
export const frames = (printed) => {
  /** @type {Array<Array<Cell>>} */
  const screen = [[]]
  /** @type {Array<ReadonlyArray<ReadonlyArray<Cell>>>} */
  const found = []
  let row = 0
  let column = 0
  /** @type {ReadonlyArray<string>} */
  let on = []
  // oxlint-disable-next-line no-control-regex -- what a terminal obeys begins with ESC
  for (const [token, codes, kind] of printed.matchAll(/\u001b\[([\d;?]*)([A-Za-z])|\r|\n|./gsu)) {
    if (token === "\r") column = 0
    else if (token === "\n") row += 1
    else if (kind === "A") row = Math.max(0, row - Number(codes || 1))
    else if (kind === "K") screen[row] = []
    else if (kind === "m") {
      for (const code of (codes || "0").split(";")) {
        if (code === "0") on = []
        else if (code === "22") on = on.filter((look) => look !== "1" && look !== "2")
        else if (code === "39") on = on.filter((look) => Number(look) < 30)
        else on = [...on, code]
      }
    } else if (kind === "l" && codes === "?2026") found.push(screen.map((line) => [...line]))
    else if (kind === undefined) {
      const line = screen[row] ??= []
      while (line.length < column) line.push({ text: " ", look: "" })
      line[column] = { text: token, look: on.flatMap((code) => looks[code] ?? []).join(" ") }
      column += 1
    }
    screen[row] ??= []
  }
  return found
}

const style = `
  svg { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  .page { fill: #0d1117; stroke: #3d444d; } text { fill: #f0f6fc; white-space: pre; }
  .strong { font-weight: 600; } .dim { fill: #9198a1; } .red { fill: #ff7b72; } .green { fill: #3fb950; }
  .yellow { fill: #d29922; } .blue { fill: #58a6ff; } .magenta { fill: #bc8cff; } .cyan { fill: #39c5cf; }`

const escape = (/** @type {string} */ text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const cell = 7.8
const height = 19

/**
 * A line of the terminal, as texts at this height.
 * @param {ReadonlyArray<Cell>} line
 * @param {number} y
 * @returns {ReadonlyArray<string>}
 */
const textsOf = (line, y) => {
  /** @type {Array<{ x: number, text: string, look: string }>} */
  const runs = []
  for (const [x, { look, text }] of line.entries()) {
    const last = runs.at(-1)
    if (last?.look === look) last.text += text
    else runs.push({ x, look, text })
  }
  return runs.filter(({ text }) => text.trim() !== "").map(({ look, text, x }) =>
    `<text xml:space="preserve" x="${(16 + x * cell).toFixed(1)}" y="${y}" textLength="${
      ([...text].length * cell).toFixed(1)
    }"${look === "" ? "" : ` class="${look}"`}>${escape(text)}</text>`
  )
}

/** How long a frame of a film is shown, and the last one, in seconds. */
const pace = { frame: 0.6, last: 4 }

/**
 * A film: each line is drawn once, and frames refer to it. Where motion is not wanted, the middle frame stands still.
 * @param {ReadonlyArray<ReadonlyArray<ReadonlyArray<Cell>>>} shots
 * @param {string} title
 * @returns {string}
 */
export const film = (shots, title) => {
  /** @type {Map<string, string>} */
  const lines = new Map()
  const groups = shots.map((shot, at) => {
    const uses = shot.flatMap((line, row) => {
      const drawn = textsOf(line, 0).join("")
      if (drawn === "") return []
      const id = lines.get(drawn) ?? `l${lines.size}`
      lines.set(drawn, id)
      return [`<use href="#${id}" y="${30 + row * height}"/>`]
    })
    const classes = [
      "shot",
      ...(at === shots.length - 1 ? ["last"] : []),
      ...(at === shots.length >> 1 ? ["still"] : [])
    ]
    return `<g class="${classes.join(" ")}" style="animation-delay:${(at * pace.frame).toFixed(1)}s">${
      uses.join("")
    }</g>`
  })
  const seconds = (shots.length - 1) * pace.frame + pace.last
  const percent = (/** @type {number} */ part) => `${(100 * part / seconds).toFixed(3)}%`
  const most = Math.max(...shots.map((shot) => shot.length))
  const size = [Math.ceil(columns * cell + 32), 34 + most * height]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.join(" ")}" width="${size[0]}" role="img">
<title>${escape(title)}</title>
<style>${style}
  .shot { visibility: hidden; animation: shot ${seconds.toFixed(1)}s infinite; } .last { animation-name: last; }
  @keyframes shot { 0% { visibility: visible; } ${percent(pace.frame)}, 100% { visibility: hidden; } }
  @keyframes last { 0% { visibility: visible; } ${percent(pace.last)}, 100% { visibility: hidden; } }
  @media (prefers-reduced-motion: reduce) { .shot { animation: none; } .still { visibility: visible; } }
</style>
<rect class="page" x="0.5" y="0.5" width="${size[0] - 1}" height="${size[1] - 1}" rx="8"/>
<defs>
${[...lines].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join("\n")}
</defs>
${groups.join("\n")}
</svg>
`
}

/**
 * @param {ReadonlyArray<ReadonlyArray<Cell>>} lines
 * @returns {string}
 */
export const draw = (lines) => {
  const drawn = lines.flatMap((line, at) => textsOf(line, 30 + at * height))
  const size = [Math.ceil(columns * cell + 32), 34 + lines.length * height]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.join(" ")}" width="${size[0]}" role="img">
<title>skein run on a terminal: an agent waits for its subagents, which read the repository in parallel</title>
<style>${style}
</style>
<rect class="page" x="0.5" y="0.5" width="${size[0] - 1}" height="${size[1] - 1}" rx="8"/>
${drawn.join("\n")}
</svg>
`
}

const cellsOf = (/** @type {string} */ text, look = "") => [...text].map((each) => ({ text: each, look }))

if (process.argv[1] === import.meta.filename) {
  const data = mkdtempSync(join(tmpdir(), "skein-picture-"))
  const argv = [
    process.execPath,
    join(root, "packages", "cli", "bin", "skein.js"),
    "run",
    "--model",
    "offline/survey",
    "--dir",
    root,
    prompt
  ]
  const { status, stdout } = spawnSync(
    "python3",
    [join(root, "test", "support", "terminal.py"), JSON.stringify({ argv, columns, rows, keys: [] })],
    {
      encoding: "utf8",
      maxBuffer: 2 ** 26,
      env: { PATH: process.env["PATH"], HOME: data, TERM: "xterm-256color", LANG: "C.UTF-8" }
    }
  )
  rmSync(data, { recursive: true })
  if (status !== 0) throw new Error(`The run ended with ${status}: ${stdout}`)
  // The fullest view of agents in different states: some at work, some done.
  const marks = (/** @type {ReadonlyArray<ReadonlyArray<Cell>>} */ frame) => {
    const text = frame.map((line) => line.map((each) => each.text).join("")).join("\n")
    const count = (/** @type {RegExp} */ mark) => text.match(mark)?.length ?? 0
    return Math.min(count(/─ ●/g), 6) * 3 + Math.min(count(/─ ✓/g), 4) * 2 + count(/─ [●✓○]/g)
  }
  const best = frames(stdout).reduce((a, b) => marks(b) > marks(a) ? b : a)
  const shown = best.slice(-(rows - 2))
  writeFileSync(
    join(root, "docs", "picture.svg"),
    draw([[...cellsOf("$ ", "dim"), ...cellsOf(`skein run "${prompt}"`, "strong")], [], ...shown])
  )
}
