/**
 * Decides the modules of a project, the module of a file or an import, and which modules a subagent surveys. A module is
 * written as a path: `src/a/` is a folder with everything below it, `src/*` the files directly in a folder, and
 * `src/a.ts` one file. `./` is everything.
 */
import { baseName, familyOf, folderOf, isCode, isIgnored, isManifest, isTest, languageOf, stem } from "./language.ts"

/** A module with its files. */
export interface Module {
  readonly path: string
  readonly files: ReadonlyArray<string>
}

interface Folder {
  readonly path: string
  readonly folders: Map<string, Folder>
  readonly own: Array<string>
}

const treeOf = (files: ReadonlyArray<string>): Folder => {
  const top: Folder = { path: "", folders: new Map(), own: [] }
  for (const file of files) {
    let folder = top
    for (const name of file.split("/").slice(0, -1)) {
      const path = folder.path === "" ? name : `${folder.path}/${name}`
      const next = folder.folders.get(name) ?? { path, folders: new Map(), own: [] }
      folder.folders.set(name, next)
      folder = next
    }
    folder.own.push(file)
  }
  return top
}

const filesBelow = (folder: Folder): ReadonlyArray<string> => [
  ...folder.own,
  ...[...folder.folders.values()].flatMap(filesBelow)
]

interface Unit extends Module {
  readonly folder: Folder | undefined
  readonly code: number
  /** Has its own manifest: it is divided only if there is nothing else to divide. */
  readonly whole: boolean
}

const unit = (path: string, files: ReadonlyArray<string>, folder?: Folder, whole = false): Unit => ({
  path,
  files,
  folder,
  whole,
  code: files.filter((file) => isCode(file) && !isTest(file)).length
})

/** The files of a folder are separate modules if there are few of them in a small project. */
const few = { beside: 12, inAll: 40 }

/** The maximum number of modules: more say less. */
const mostModules = 40

const divide = (folder: Folder, single: boolean): ReadonlyArray<Unit> => {
  const code = folder.own.filter((file) => isCode(file) && !isTest(file))
  const alone = single && code.length <= few.beside && code.length > 1 ? code : []
  const rest = folder.own.filter((file) => !alone.includes(file))
  return [
    ...[...folder.folders.values()].map((below) => unit(`${below.path}/`, filesBelow(below), below)),
    ...alone.map((file) => unit(file, [file])),
    ...(rest.length === 0 ? [] : [unit(folder.path === "" ? "./*" : `${folder.path}/*`, rest)])
  ]
}

/** Replaces folders of packages by the packages: `packages/` becomes `packages/a/` and `packages/b/`. */
const packagesOf = (folder: Folder, isPackage: (path: string) => boolean): ReadonlyArray<Unit> => {
  const holds = (below: Folder): boolean => isPackage(below.path) || [...below.folders.values()].some(holds)
  return divide(folder, false).flatMap((each): ReadonlyArray<Unit> => {
    if (each.folder === undefined || !holds(each.folder)) return [each]
    if (isPackage(each.folder.path)) return [unit(each.path, each.files, each.folder, true)]
    return packagesOf(each.folder, isPackage)
  })
}

/** Whether dividing a unit yields more than the same files under another name. */
const isDivisible = ({ code, folder }: Unit, single: boolean): boolean =>
  folder !== undefined && code > 1 && (folder.folders.size > 0 || divide(folder, single).length > 1)

/** A longer report is not read, and needs more subagents than a turn may start. */
const mostRows = 120

/** If there are too many modules, merges the small ones of the largest folder into one for the rest of that folder. */
const merge = (units: ReadonlyArray<Unit>): ReadonlyArray<Unit> => {
  if (units.length <= mostRows) return units
  const siblings = new Map<string, Array<Unit>>()
  for (const each of units) {
    if (each.folder === undefined) continue
    const parent = folderOf(each.folder.path)
    siblings.set(parent, [...(siblings.get(parent) ?? []), each])
  }
  const [widest] = [...siblings].toSorted(([, a], [, b]) => b.length - a.length)
  if (widest === undefined || widest[1].length < 2) return units
  const [parent, below] = widest
  const byCode = below.toSorted((a, b) => b.code - a.code || b.files.length - a.files.length)
  const rest = new Set(byCode.slice(Math.max(0, below.length - (units.length - mostRows) - 1)))
  const files = [...rest].flatMap((each) => each.files)
  return merge([...units.filter((each) => !rest.has(each)), unit(parent === "" ? "./" : `${parent}/`, files)])
}

/** Divides the files of a project into modules, sorted by path. */
export const modulesOf = (all: ReadonlyArray<string>): ReadonlyArray<Module> => {
  const files = all.filter((file) => !isIgnored(file)).toSorted()
  if (files.length === 0) return []
  const tree = treeOf(files)
  const code = files.filter((file) => isCode(file) && !isTest(file)).length
  const packages = new Set(files.filter((file) => isManifest(file) && !isTest(file)).map(folderOf))
  packages.delete("")
  const single = code <= few.inAll
  let units = packages.size > 1 ? packagesOf(tree, (path) => packages.has(path)) : divide(tree, single)
  const enough = packages.size > 1 ? 3 : Math.min(14, Math.max(3, Math.ceil(code / 4)))
  const settled = new Set<string>()
  for (;;) {
    const next = units.filter((each) => !settled.has(each.path) && isDivisible(each, single))
      .filter((each) => !each.whole || units.length < 3 || each.code > code / 2)
      .reduce<Unit | undefined>((most, each) => (most === undefined || each.code > most.code ? each : most), undefined)
    if (next?.folder === undefined || (units.length >= enough && next.code <= code * 0.35)) break
    settled.add(next.path)
    const parts = divide(next.folder, single)
    if (units.length - 1 + parts.length > mostModules) continue
    units = units.flatMap((each) => (each === next ? parts : [each]))
  }
  return merge(units).map(({ files: own, path }) => ({ path, files: own })).toSorted((
    a,
    b
  ) => (a.path < b.path ? -1 : 1))
}

const above = (path: string, known: ReadonlySet<string>): string | undefined => {
  const beside = `${folderOf(path) || "."}/*`
  if (known.has(beside)) return beside
  for (let folder = folderOf(path); folder !== ""; folder = folderOf(folder)) {
    if (known.has(`${folder}/`)) return `${folder}/`
  }
  return known.has("./") ? "./" : undefined
}

/** Finds the module of a file. */
export const ownerIndex = (modules: ReadonlyArray<string>): (file: string) => string | undefined => {
  const known = new Set(modules)
  return (file) => (known.has(file) ? file : above(file, known))
}

const withoutExtension = (path: string): string => path.slice(0, path.length - baseName(path).length) + stem(path)

/** Finds the module of an import: its target may be a folder, and its extension missing or different. */
export const targetIndex = (modules: ReadonlyArray<string>): (target: string) => string | undefined => {
  const known = new Set(modules)
  const files = new Map(
    modules.filter((path) => !path.endsWith("/") && !path.endsWith("/*"))
      .flatMap((path) => [[withoutExtension(path), path], [path, path]] as const)
  )
  const find = (target: string): string | undefined => {
    const tried = [
      target,
      withoutExtension(target),
      ...["index", "__init__", "main"].map((name) => `${target}/${name}`)
    ]
    const file = tried.map((path) => files.get(path)).find((path) => path !== undefined)
    if (file !== undefined) return file
    // Last, the import may be a name in the file: Python writes both alike.
    return [`${target}/`, `${target}/*`].find((path) => known.has(path)) ?? files.get(folderOf(target)) ??
      above(target, known)
  }
  const found = new Map<string, string | undefined>()
  return (target) => {
    if (!found.has(target)) found.set(target, find(target))
    return found.get(target)
  }
}

/** A module's path for display: `src/a`, `src/*`, `a.ts`. */
export const label = (
  path: string
): string => (path === "./" ? "." : path === "./*" ? "(top)" : path.replace(/\/$/, ""))

/** What one subagent surveys. */
export interface Part {
  readonly label: string
  readonly modules: ReadonlyArray<Module>
}

/** More subagents than this gain nothing. */
const most = 12

/** The maximum number of places for one subagent. */
const places = 3

const placesOf = (modules: ReadonlyArray<Module>): number =>
  new Set(modules.map(({ path }) => (path.endsWith("/") ? path : `${folderOf(path)}/*`))).size

const filesOf = (modules: ReadonlyArray<Module>): number => modules.reduce((sum, each) => sum + each.files.length, 0)

/** A few words for people: the path of one module, the last names of several. */
const nameOf = (modules: ReadonlyArray<Module>): string => {
  const [first] = modules
  if (first !== undefined && modules.length === 1) return label(first.path)
  const names = modules.map(({ path }) => (path.endsWith("/*") ? label(path) : label(path).split("/").at(-1) ?? ""))
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")}, …`
}

/** Groups modules into parts. It joins the smallest neighbours first. */
export const partsOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Part> => {
  const files = filesOf(modules)
  const count = files < 6 ? 1 : Math.min(most, Math.max(3, Math.ceil(files / 6)))
  const groups = modules.map((module): ReadonlyArray<Module> => [module])
  while (groups.length > count) {
    let best = -1
    let least = Infinity
    for (let i = 0; i + 1 < groups.length; i++) {
      const both = [...(groups[i] ?? []), ...(groups[i + 1] ?? [])]
      if (placesOf(both) <= places && filesOf(both) < least) {
        best = i
        least = filesOf(both)
      }
    }
    if (best < 0) break
    groups.splice(best, 2, [...(groups[best] ?? []), ...(groups[best + 1] ?? [])])
  }
  return groups.map((group) => ({ label: nameOf(group), modules: group }))
}

/** The known languages of modules, most frequent first. */
export const languagesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const file of modules.flatMap((module) => module.files)) {
    if (familyOf(file) === undefined) continue
    counts.set(languageOf(file), (counts.get(languageOf(file)) ?? 0) + 1)
  }
  return [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([language]) => language)
}
