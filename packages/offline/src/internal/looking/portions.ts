/** Splits a call whose output was truncated into smaller calls. */
import type { Brief } from "../brief.ts"
import type { Call } from "../conversation.ts"
import { families, familyOf, includeOf } from "../language.ts"
import { isCut, readTree } from "../outputs.ts"
import { notMade, type PlannedCall, type Toolbox } from "../toolbox.ts"
import { searchPattern } from "../words.ts"
import { namesIn, within } from "./places.ts"

/** How many files of a folder one call should cover. */
const side = 24

const chunks = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.length === 0 ? [] : [all.slice(0, side), ...chunks(all.slice(side))]

/** Groups files of a folder, each group for one call. */
const groups = (
  folder: string,
  names: ReadonlyArray<string>
): ReadonlyArray<{ readonly path: string; readonly include?: string }> =>
  chunks(names).flatMap((chunk) => within({ path: folder, names: chunk }) ?? [])

/** Where to look instead: each subfolder, and the files of the folder in groups. */
const places = (call: Call, files: ReadonlyArray<string>, include: string | undefined) => {
  const found: Array<{ readonly path: string; readonly include?: string }> = []
  const { path } = call.input
  for (let top = typeof path === "string" ? path : "";;) {
    const prefix = top === "" ? "" : `${top}/`
    const below = files.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length))
    const folders = [
      ...new Set(below.flatMap((rest) => (rest.includes("/") ? [rest.slice(0, rest.indexOf("/"))] : [])))
    ]
    found.push(...groups(top, below.filter((rest) => !rest.includes("/"))))
    const [only] = folders
    if (only === undefined || folders.length > 1) {
      const filter = include === undefined ? {} : { include }
      return [...found, ...folders.map((folder) => ({ path: `${prefix}${folder}`, ...filter }))]
    }
    top = `${prefix}${only}`
  }
}

/** Smaller calls in place of a truncated one; none if it cannot be split further. */
const narrower = (call: Call, files: ReadonlyArray<string>, tools: Toolbox): ReadonlyArray<PlannedCall> => {
  const { mode, path, pattern } = call.input
  if (typeof pattern !== "string") return []
  const folder = typeof path === "string" ? path : ""
  if (call.name === "glob") {
    return places(call, files, undefined).flatMap((at) =>
      at.include === undefined ? tools.glob(pattern, at.path) : tools.glob("./*", at.path)
    )
  }
  const include = tools.includeOf(call.input)
  const family = families.find((each) => includeOf(each) === include)
  const names = include !== undefined && family === undefined ? namesIn(include) : undefined
  const at = names === undefined
    ? places(call, family === undefined ? files : files.filter((file) => familyOf(file) === family), include)
    : names.length < 2
    ? []
    : [names.slice(0, names.length / 2), names.slice(names.length / 2)].flatMap((half) => groups(folder, half))
  return at.flatMap((place) => (mode === "count" ? tools.count(pattern, place) : tools.grep(pattern, place)))
}

/** The truncated calls with their smaller replacements. For a word search, the first matches are enough. */
export const portions = (calls: ReadonlyArray<Call>, files: ReadonlyArray<string>, brief: Brief, tools: Toolbox) => {
  const search = brief.words.length === 0 ? undefined : searchPattern(brief.words)
  return calls.flatMap((call) => {
    if (call.output === undefined || call.output.failed) return []
    if (call.name === "list" && !tools.offers("glob")) {
      const { closed } = readTree(call.output.text, tools.directory)
      return closed.length === 0
        ? []
        : [{ call, again: notMade(closed.flatMap((folder) => tools.list(folder)), [call]) }]
    }
    const isSearch = call.name === "glob" || (call.name === "grep" && call.input["pattern"] !== search)
    return isSearch && isCut(call.output.text) ? [{ call, again: notMade(narrower(call, files, tools), [call]) }] : []
  })
}
