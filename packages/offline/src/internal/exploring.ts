import { type Brief, searchPattern } from "./brief.ts"
import { patterns } from "./facts.ts"
import {
  baseName,
  byText,
  families,
  type Family,
  familyOf,
  folderOf,
  includeOf,
  isCode,
  isGenerated,
  isManifest,
  isTest,
  manifestNames
} from "./language.ts"
import type { Module } from "./modules.ts"
import { type Call, isCut, notMade, type PlannedCall, readTree, type Toolbox } from "./toolbox.ts"

/** A folder to search. With `names`, only these files directly in it. */
interface Place {
  /** Empty for the working directory. */
  readonly path: string
  readonly names: ReadonlyArray<string> | undefined
}

/** The places of modules. */
const placesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Place> => {
  const named = new Map<string, Array<string>>()
  const places: Array<Place> = []
  for (const { files, path } of modules) {
    if (path.endsWith("/")) places.push({ path: path === "./" ? "" : path.slice(0, -1), names: undefined })
    else if (path.endsWith("/*") && files.length === 0) {
      places.push({ path: path === "./*" ? "" : path.slice(0, -2), names: undefined })
    } else {
      for (const file of files) named.set(folderOf(file), [...(named.get(folderOf(file)) ?? []), baseName(file)])
    }
  }
  return [...places, ...[...named].map(([path, names]) => ({ path, names }))]
}

/** A name inside a wildcard: special characters become `?`. */
const literal = (name: string): string => name.replace(/[[\]{}*?,!\\]/g, "?")

const anyOf = (names: ReadonlyArray<string>): string =>
  names.length === 1 ? literal(names[0] ?? "") : `{${names.map(literal).join(",")}}`

/** The grep arguments for a place; undefined if it names no file of the family. */
const within = (
  place: Place,
  family?: Family
): { readonly path: string; readonly include?: string } | undefined => {
  if (place.names === undefined) {
    return family === undefined ? { path: place.path } : { path: place.path, include: includeOf(family) }
  }
  const names = family === undefined ? place.names : place.names.filter((name) => familyOf(name) === family)
  return names.length === 0 ? undefined : { path: place.path, include: anyOf(names) }
}

/** The names in a wildcard that was made of names. */
const namesIn = (include: string): ReadonlyArray<string> =>
  include.startsWith("{") ? include.slice(1, -1).split(",") : [include]

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
const placesWithin = (call: Call, files: ReadonlyArray<string>, include: string | undefined) => {
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
    return placesWithin(call, files, undefined).flatMap((at) =>
      at.include === undefined ? tools.glob(pattern, at.path) : tools.glob("./*", at.path)
    )
  }
  const include = tools.includeOf(call.input)
  const family = families.find((each) => includeOf(each) === include)
  const names = include !== undefined && family === undefined ? namesIn(include) : undefined
  const at = names === undefined
    ? placesWithin(call, family === undefined ? files : files.filter((file) => familyOf(file) === family), include)
    : names.length < 2
    ? []
    : [names.slice(0, names.length / 2), names.slice(names.length / 2)].flatMap((half) => groups(folder, half))
  return at.flatMap((place) => (mode === "count" ? tools.count(pattern, place) : tools.grep(pattern, place)))
}

/** The truncated calls with their smaller replacements. For a word search, the first matches are enough. */
const portions = (calls: ReadonlyArray<Call>, files: ReadonlyArray<string>, brief: Brief, tools: Toolbox) => {
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

const some = <A, B>(value: A | undefined, make: (value: A) => ReadonlyArray<B>): ReadonlyArray<B> =>
  value === undefined ? [] : make(value)

/** The first round. `known`: the files are already known, so it needs no glob. */
export const lookAround = (brief: Brief, tools: Toolbox, known: boolean): ReadonlyArray<PlannedCall> => {
  const places = placesOf(brief.modules)
  // With one place, each kind of mark gets its own call. Several places share calls, which keeps a part at about a dozen.
  const marks = places.length === 1 ? [patterns.entries, patterns.todos] : [`${patterns.entries}|${patterns.todos}`]
  return places.flatMap((place) => [
    ...(known || place.names !== undefined
      ? []
      : tools.offers("glob")
      ? tools.glob("**/*", place.path)
      : tools.list(place.path)),
    ...some(within(place), (at) => tools.count(patterns.anyLine, at)),
    ...brief.families.flatMap((family) =>
      some(within(place, family), (at) => [
        ...tools.grep(patterns.imports[family], at),
        ...tools.count(patterns.exports, at)
      ])
    ),
    ...marks.flatMap((pattern) => some(within(place), (at) => tools.grep(pattern, at))),
    ...(brief.words.length === 0
      ? []
      : some(within(place), (at) => tools.grep(searchPattern(brief.words), at)))
  ])
}

const introductions = /^(readme(\.\w+)?|__init__\.py|doc\.go|(index|main|mod|lib|app|cli)\.\w+)$/i

/** Files that explain what a module is, best first. */
const telling = (brief: Brief, files: ReadonlyArray<string>, owner: (file: string) => string | undefined) =>
  brief.modules.flatMap((module): ReadonlyArray<string> => {
    const own = files.filter((file) => owner(file) === module.path && !isTest(file))
    const folder = module.path.endsWith("/*") ? module.path.slice(0, -2) : module.path.slice(0, -1)
    const top = folder === "." ? "" : folder
    const right = own.filter((file) => folderOf(file) === top)
    const manifests = manifestNames.flatMap((name) => right.filter((file) => baseName(file) === name))
    const readme = top === "" ? [] : right.filter((file) => /^readme(\.(md|rst|txt))?$/i.test(baseName(file)))
    const depth = (file: string): number => file.split("/").length
    // Deeper files describe themselves, not the module.
    const near = (file: string): boolean => depth(file) <= depth(folder) + 2 && !file.includes("/internal/")
    const first = own.filter((file) => introductions.test(baseName(file)) && isCode(file) && near(file))
      .toSorted((a, b) => depth(a) - depth(b) || byText(a, b)).slice(0, 1)
    return [...manifests, ...readme.slice(0, 1), ...(own.length === 1 ? own.filter(isCode) : first)]
  })

const mostReads = { part: 8, alone: 14 }

/** Without grep, the survey must read files to see their content. */
const readable = (files: ReadonlyArray<string>): ReadonlyArray<string> =>
  files.filter((file) => isCode(file) && !isGenerated(file))
    .toSorted((a, b) =>
      Number(isTest(a)) - Number(isTest(b)) ||
      Number(introductions.test(baseName(b))) - Number(introductions.test(baseName(a))) || byText(a, b)
    )

const mostPortions = 64

/** The maximum number of rounds for one part, even if output was truncated. */
export const mostRounds = 5

/** The next round: reads the most telling files, and repeats truncated calls in smaller portions. `rounds` is not empty. */
export const lookCloser = (
  brief: Brief,
  tools: Toolbox,
  rounds: ReadonlyArray<ReadonlyArray<Call>>,
  files: ReadonlyArray<string>,
  owner: (file: string) => string | undefined
): ReadonlyArray<PlannedCall> => {
  const made = rounds.flat()
  const reads = [
    ...telling(brief, files, owner).toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a))),
    ...(tools.offers("grep") ? [] : readable(files))
  ]
  const asked = new Set(made.flatMap((call) => (call.name === "read" ? Object.values(call.input) : [])))
  const most = brief.modules.length > 6 || !tools.offers("grep") ? mostReads.alone : mostReads.part
  const planned = [
    ...(rounds.length === 1 ? [...new Set(reads)].filter((file) => !asked.has(file)).slice(0, most) : [])
      .flatMap((file) => tools.read(file, isManifest(file) || !tools.offers("grep") ? undefined : 40)),
    ...notMade(portions(rounds.at(-1) ?? [], files, brief, tools).flatMap(({ again }) => again), made)
      .slice(0, mostPortions)
  ]
  return notMade(planned, made)
}

/** Notes on truncated output that smaller calls did not recover. */
export const unseen = (
  brief: Brief,
  tools: Toolbox,
  calls: ReadonlyArray<Call>,
  files: ReadonlyArray<string>
): ReadonlyArray<string> => {
  return portions(calls, files, brief, tools)
    .filter(({ again }) => again.length === 0 || notMade(again, calls).length > 0)
    .map(({ call }) => {
      const { path } = call.input
      return `The output of ${call.name}${
        typeof path === "string" ? ` in ${path}` : ""
      } was cut: there is more than was counted.`
    })
}
