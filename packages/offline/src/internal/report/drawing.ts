/** Draws modules and the arrows between them as text. */
import { byText } from "../language.ts"
import { label } from "../modules.ts"
import type { Arrow } from "./project.ts"

/** The groups of modules that import each other in a cycle. */
export const cycles = (arrows: ReadonlyArray<Arrow>): ReadonlyArray<ReadonlyArray<string>> => {
  const next = new Map<string, Array<string>>()
  for (const { from, to } of arrows) next.set(from, [...(next.get(from) ?? []), to])
  const reach = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>()
    const open = [...(next.get(from) ?? [])]
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      if (seen.has(each)) continue
      seen.add(each)
      open.push(...(next.get(each) ?? []))
    }
    return seen
  }
  const reached = new Map([...next.keys()].map((from) => [from, reach(from)]))
  const found = new Map<string, ReadonlyArray<string>>()
  for (const from of [...next.keys()].toSorted()) {
    if (reached.get(from)?.has(from) !== true || [...found.values()].some((cycle) => cycle.includes(from))) continue
    found.set(
      from,
      [...next.keys()].filter((to) => reached.get(from)?.has(to) === true && reached.get(to)?.has(from) === true)
        .toSorted()
    )
  }
  return [...found.values()]
}

/** The distance of each module from those that import nothing, ignoring cycles. */
const heights = (modules: ReadonlyArray<string>, arrows: ReadonlyArray<Arrow>): ReadonlyMap<string, number> => {
  const round = cycles(arrows)
  const straight = arrows.filter(({ from, to }) => !round.some((cycle) => cycle.includes(from) && cycle.includes(to)))
  const height = new Map(modules.map((path) => [path, 0]))
  for (let settled = false; !settled;) {
    settled = true
    for (const { from, to } of straight) {
      const least = (height.get(to) ?? 0) + 1
      if (least <= (height.get(from) ?? 0)) continue
      height.set(from, least)
      settled = false
    }
  }
  return height
}

/** Short names: the last folder if it is unique. */
export const shortNames = (modules: ReadonlyArray<string>): (path: string) => string => {
  const last = (path: string): string => label(path).split("/").at(-1) ?? ""
  const counts = new Map<string, number>()
  for (const path of modules) counts.set(last(path), (counts.get(last(path)) ?? 0) + 1)
  return (path) => (counts.get(last(path)) === 1 && last(path) !== "*" ? last(path) : label(path))
}

/** Draws the arrows below the module that imports, in about `lines` lines. The strongest get a line each. */
export const draw = (
  modules: ReadonlyArray<string>,
  arrows: ReadonlyArray<Arrow>,
  lines: number
): ReadonlyArray<string> => {
  const short = shortNames(modules)
  const height = heights(modules, arrows)
  const touched = modules.filter((path) => arrows.some(({ from, to }) => from === path || to === path))
  const each = touched.length + arrows.length <= lines
    ? arrows.length
    : Math.max(1, Math.floor((lines - 2 * touched.length) / Math.max(1, touched.length)))
  const width = Math.max(0, ...arrows.map(({ to }) => short(to).length))
  const digits = Math.max(0, ...arrows.map(({ count }) => String(count).length))
  return touched.toSorted((a, b) => (height.get(b) ?? 0) - (height.get(a) ?? 0) || byText(a, b)).flatMap((path) => {
    const own = arrows.filter((arrow) => arrow.from === path)
    const rest = own.slice(each).map((arrow) => short(arrow.to))
    return [
      short(path),
      ...own.slice(0, each).map((arrow) =>
        `  -> ${short(arrow.to).padEnd(width)}  ${String(arrow.count).padStart(digits)}x  ${arrow.path}:${arrow.line}`
      ),
      ...(rest.length === 0
        ? []
        : [`  -> also ${rest.slice(0, 6).join(", ")}${rest.length > 6 ? ` and ${rest.length - 6} more` : ""}`])
    ]
  })
}

/** A table in Markdown whose columns line up; `right` names the columns of numbers. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  right: ReadonlySet<number>
): ReadonlyArray<string> => {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")))
  const widths = head.map((title, column) =>
    Math.max(title.length, ...safe.map((row) => [...(row[column] ?? "")].length))
  )
  const pad = (cell: string, column: number): string => {
    const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length))
    return right.has(column) ? space + cell : cell + space
  }
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.map(pad).join(" | ")} |`
  const rule = widths.map((width, column) => (right.has(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width)))
  return [line(head), line(rule), ...safe.map(line)]
}
