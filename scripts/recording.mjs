// @ts-check
// `node scripts/recording.mjs`: draws docs/recording.svg, a short film of a real session of the built program on a terminal. It
// needs no key: the offline model surveys this clone. Needs python3 for the terminal. Run it again when the session looks different.
import xterm from "@xterm/headless"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./layout.mjs"
import { film } from "./picture.mjs"

/** @typedef {import("./picture.mjs").Cell} Cell */

const columns = 96
const rows = 24

/** The most frames of the film. */
const most = 36

/** What a session shows and what is typed then. */
const keys = [
  { after: "Write a prompt", send: "Survey this repository" },
  { after: "Survey this repository", send: "\r" },
  { after: "├─ ", send: "and say where sessions are stored" },
  { after: "sessions are stored", send: "\t" },
  { after: "sent after the turn", send: "\u0014" },
  { after: "Esc closes", send: "\u001b[B\u001b[B" },
  { after: "❯", send: "\u0014" },
  // The full-screen view is left.
  { after: "\u001b[?1049l", send: "/co" },
  { after: "Shows tokens", send: "\u0015" },
  { after: "/ for commands", send: "\u0003\u0003" }
]

/** The colours of the palette that the program uses. @type {Readonly<Record<number, string>>} */
const colours = { 1: "red", 2: "green", 3: "yellow", 4: "blue", 5: "magenta", 6: "cyan" }

/**
 * What stands on the terminal.
 * @param {InstanceType<typeof xterm.Terminal>} terminal
 * @returns {ReadonlyArray<ReadonlyArray<Cell>>}
 */
const look = (terminal) => {
  const { active } = terminal.buffer
  return Array.from({ length: rows }, (_, row) => {
    const line = active.getLine(active.baseY + row)
    return Array.from({ length: columns }, (__, column) => {
      const cell = line?.getCell(column)
      const looks = [
        ...(cell?.isBold() ? ["strong"] : []),
        ...(cell?.isDim() ? ["dim"] : []),
        ...(cell?.isFgPalette() ? [colours[cell.getFgColor()] ?? ""] : [])
      ]
      return { text: cell?.getChars() || " ", look: looks.filter((each) => each !== "").join(" ") }
    })
  })
}

const textOf = (/** @type {ReadonlyArray<ReadonlyArray<Cell>>} */ frame) =>
  frame.map((line) => line.map(({ text }) => text).join("").trimEnd()).join("\n")

const data = mkdtempSync(join(tmpdir(), "skein-recording-"))
const argv = [process.execPath, join(root, "packages", "cli", "bin", "skein.js"), "-m", "offline/survey", "--dir", root]
const { status, stdout } = spawnSync(
  "python3",
  [join(root, "test", "support", "terminal.py"), JSON.stringify({ argv, columns, rows, keys })],
  {
    encoding: "utf8",
    maxBuffer: 2 ** 27,
    // Where a mark never comes, it would wait for ever.
    timeout: 60_000,
    env: { PATH: process.env["PATH"], HOME: data, TERM: "xterm-256color", LANG: "C.UTF-8" }
  }
)
rmSync(data, { recursive: true })
if (status === null) throw new Error("The session did not end.")

const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
const end = "\u001b[?2026l"
/** @type {Array<ReadonlyArray<ReadonlyArray<Cell>>>} */
const frames = []
for (const piece of stdout.split(end)) {
  await new Promise((resolve) => terminal.write(piece + end, () => resolve(undefined)))
  const frame = look(terminal)
  const last = frames.at(-1)
  if (last === undefined || textOf(last) !== textOf(frame)) frames.push(frame)
}
// Evenly over the whole session; the last frame is what is left when it has ended.
const step = Math.max(1, frames.length / most)
const shown = Array.from({ length: Math.min(most, frames.length) }, (_, at) => frames[Math.floor(at * step)] ?? [])
writeFileSync(
  join(root, "docs", "recording.svg"),
  film(
    [...shown, frames.at(-1) ?? []],
    "A session on a terminal: a prompt, subagents at work, a queued prompt, the tree of agents"
  )
)
console.log(`docs/recording.svg: ${shown.length} of ${frames.length} frames`)
