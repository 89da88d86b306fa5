// @ts-check
// `npm run weight`: how much there is to read. It counts the source of each package in lines, files and syntax nodes, which
// no formatting changes. It also counts scripts, tests, and the other files in `src`.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { parseSync } from "oxc-parser"
import { root } from "./layout.mjs"
import { walk } from "./syntax.mjs"

/**
 * The files below a directory, without what is installed or built.
 * @param {string} directory
 * @returns {ReadonlyArray<string>}
 */
const filesIn = (directory) =>
  (existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : []).flatMap((entry) => {
    if (entry.isFile()) return [join(directory, entry.name)]
    return ["node_modules", "dist", "results"].includes(entry.name) ? [] : filesIn(join(directory, entry.name))
  })

/** @param {ReadonlyArray<number>} numbers @param {number} share of them that are at most the result */
const quantile = (numbers, share) => numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * share)] ?? 0

/** @param {ReadonlyArray<string>} files */
const weigh = (files) => {
  const each = files.map((file) => {
    const text = readFileSync(file, "utf8")
    let nodes = 0
    if ([".ts", ".tsx", ".mjs"].includes(extname(file))) walk(parseSync(file, text).program, () => nodes++)
    return { lines: text.split("\n").length - 1, nodes }
  })
  const lines = each.map((file) => file.lines)
  return {
    lines: lines.reduce((sum, count) => sum + count, 0),
    files: files.length,
    nodes: each.reduce((sum, file) => sum + file.nodes, 0),
    median: quantile(lines, 0.5),
    p90: quantile(lines, 0.9),
    longest: Math.max(0, ...lines)
  }
}

const packages = join(root, "packages")
/** @param {string} file */
const isSource = (file) => file.endsWith(".ts") || file.endsWith(".tsx")
const rooms = readdirSync(packages, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => ({
  name,
  files: filesIn(join(packages, name, "src"))
}))
const rows = [
  ...rooms.map(({ files, name }) => ({ name, ...weigh(files.filter(isSource)) })).toSorted((a, b) => b.lines - a.lines),
  { name: "all source", ...weigh(rooms.flatMap(({ files }) => files.filter(isSource))) },
  { name: "other files in src", ...weigh(rooms.flatMap(({ files }) => files.filter((file) => !isSource(file)))) },
  { name: "scripts", ...weigh(filesIn(join(root, "scripts")).filter((file) => file.endsWith(".mjs"))) },
  {
    name: "tests",
    ...weigh(
      [join(root, "test"), ...rooms.map(({ name }) => join(packages, name, "test"))].flatMap((directory) =>
        filesIn(directory).filter(isSource)
      )
    )
  }
]

const head = ["", "lines", "files", "nodes", "median", "p90", "longest"]
const cells = [
  head,
  ...rows.map(({ files, lines, longest, median, name, nodes, p90 }) => [
    name,
    ...[lines, files, nodes, median, p90, longest].map((number) => number.toLocaleString("en"))
  ])
]
const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
for (const row of cells) {
  console.log(
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)).join(
      "  "
    )
  )
}
