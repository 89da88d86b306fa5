/** Resolves the imports of a whole project from the reports of its parts: between modules, and from outside. */
import { type Manifest, manifestFolder } from "../facts/facts.ts"
import { byText, folderOf } from "../language.ts"
import { type Module, ownerIndex, targetIndex } from "../modules.ts"
import type { Edge, Name, PartReport } from "../partReport.ts"

/** An arrow between modules, or from the project to something outside. */
export interface Arrow {
  readonly from: string
  readonly to: string
  readonly count: number
  /** The file of the first import. */
  readonly path: string
  readonly line: number
}

/** All imports of a project. */
export interface Imports {
  /** Between modules, outside tests. */
  readonly arrows: ReadonlyArray<Arrow>
  /** Between modules, only in tests. */
  readonly testArrows: ReadonlyArray<Arrow>
  /** From outside; `from` is `npm`, `python` or `go`. */
  readonly outside: ReadonlyArray<Arrow>
  /** From outside, only in tests. */
  readonly testOutside: ReadonlyArray<Arrow>
}

/** Resolves an import by name: a module's path, `""` for an unknown place in the project, undefined for outside. */
type Resolve = (edge: Edge) => string | undefined

const npmResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>, folders: ReadonlySet<string>) => {
  const owner = ownerIndex(modules)
  const target = targetIndex(modules)
  const homes = new Map(names.filter(({ kind }) => kind === "npm").map(({ name, path }) => [name, path]))
  return (name: string): string | undefined => {
    const home = homes.get(name)
    if (home !== undefined) return modules.includes(manifestFolder(home)) ? manifestFolder(home) : owner(home)
    // With a base URL of `src` or the top, an import that looks like a package is a folder.
    const folder = [`src/${name}`, name].find((path) => folders.has(path))
    return folder === undefined ? undefined : target(folder)
  }
}

const pythonResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>, files: ReadonlyArray<string>) => {
  const target = targetIndex(modules)
  const python = files.filter((file) => file.endsWith(".py"))
  const places = new Set(python.map((file) => file.slice(0, -".py".length)))
  for (const file of python) {
    for (let folder = folderOf(file); folder !== ""; folder = folderOf(folder)) places.add(folder)
  }
  const homes = names.filter(({ kind }) => kind === "python").map(({ path }) => folderOf(path))
  const roots = ["", "src", "lib", "python", ...homes, ...homes.map((home) => (home === "" ? "src" : `${home}/src`))]
  return (dotted: string, importer: string): string | undefined => {
    const beside: Array<string> = []
    for (let folder = folderOf(importer); folder !== ""; folder = folderOf(folder)) beside.push(folder)
    const parts = dotted.split(".")
    for (const root of [...new Set([...roots, ...beside])]) {
      for (let length = parts.length; length > 0; length--) {
        const path = [...(root === "" ? [] : [root]), ...parts.slice(0, length)].join("/")
        // The last name may be a member of the module. If more is left, the survey did not look at that module.
        if (places.has(path)) return parts.length - length > 1 ? "" : target(path)
      }
    }
    return undefined
  }
}

const goResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>) => {
  const target = targetIndex(modules)
  const homes = names.filter(({ kind }) => kind === "go").toSorted((a, b) => b.name.length - a.name.length)
  return (path: string): string | undefined => {
    const home = homes.find(({ name }) => path === name || path.startsWith(`${name}/`))
    if (home === undefined) return undefined
    const below = path.slice(home.name.length + 1)
    const folder = folderOf(home.path)
    // An invented file name, to find the module of the files directly in that folder.
    return target([folder, below, "doc.go"].filter((each) => each !== "").join("/"))
  }
}

const resolverOf = (
  names: ReadonlyArray<Name>,
  modules: ReadonlyArray<string>,
  files: ReadonlyArray<string>
): Resolve => {
  const folders = new Set<string>()
  for (const file of files) {
    for (let folder = folderOf(file); folder !== "" && !folders.has(folder); folder = folderOf(folder)) {
      folders.add(folder)
    }
  }
  const npm = npmResolver(names, modules, folders)
  const python = pythonResolver(names, modules, files)
  const go = goResolver(names, modules)
  return ({ path, to }) => {
    if (to.startsWith("npm:")) return npm(to.slice(4))
    if (to.startsWith("python:")) return python(to.slice(7), path)
    return to.startsWith("go:") ? go(to.slice(3)) : to
  }
}

/** The name of the package to install for an import. */
const dependencyOf = (to: string): string => {
  const colon = to.indexOf(":")
  const name = to.slice(colon + 1)
  if (to.startsWith("python:")) return name.split(".")[0] ?? name
  if (!to.startsWith("go:")) return name
  const length = /^(github\.com|gitlab\.com|bitbucket\.org|golang\.org|google\.golang\.org\/genproto)\//.test(name)
    ? 3
    : 2
  return name.split("/").slice(0, length).join("/")
}

const gatherArrows = (edges: ReadonlyArray<Omit<Edge, "tests">>): ReadonlyArray<Arrow> => {
  const arrows = new Map<string, Arrow>()
  for (const { count, from, line, path, to } of edges) {
    const key = `${from}\n${to}`
    const known = arrows.get(key)
    if (known === undefined) arrows.set(key, { from, to, count, path, line })
    else {
      const first = byText(path, known.path) < 0 ? { path, line } : { path: known.path, line: known.line }
      arrows.set(key, { from, to, count: known.count + count, ...first })
    }
  }
  return [...arrows.values()].toSorted((a, b) => byText(a.from, b.from) || b.count - a.count || byText(a.to, b.to))
}

/** Resolves the imports of all parts. */
export const importsOfProject = (
  parts: ReadonlyArray<PartReport>,
  modules: ReadonlyArray<Module>,
  files: ReadonlyArray<string>,
  manifests: ReadonlyArray<Manifest>
): Imports => {
  const paths = modules.map((module) => module.path)
  const resolve = resolverOf([...parts.flatMap((part) => part.names), ...manifests], paths, files)
  const resolved = parts.flatMap((part) => part.edges).map((edge) => ({ edge, module: resolve(edge) }))
  const between = resolved.flatMap(({ edge, module }) =>
    module === undefined || module === "" || module === edge.from ? [] : [{ ...edge, to: module }]
  )
  const beyond = resolved.flatMap(({ edge, module }) =>
    module === undefined ? [{ ...edge, from: edge.to.slice(0, edge.to.indexOf(":")), to: dependencyOf(edge.to) }] : []
  )
  const split = (edges: ReadonlyArray<Edge>) => {
    const used = gatherArrows(edges.filter((edge) => !edge.tests))
    const keys = new Set(used.map(({ from, to }) => `${from}\n${to}`))
    return [used, gatherArrows(edges.filter((edge) => edge.tests && !keys.has(`${edge.from}\n${edge.to}`)))] as const
  }
  const [arrows, testArrows] = split(between)
  const [outside, testOutside] = split(beyond)
  const often = (list: ReadonlyArray<Arrow>) => list.toSorted((a, b) => b.count - a.count || byText(a.to, b.to))
  return { arrows, testArrows, outside: often(outside), testOutside: often(testOutside) }
}
