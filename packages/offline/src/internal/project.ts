/**
 * What paths alone say of a project: the language of a file, its modules, and which of them one subagent surveys. A module
 * is written as a path: `src/a/` is a folder with everything below it, `src/*` the files directly in a folder, and
 * `src/a.ts` one file. `./` is everything.
 */

/** Languages whose imports and entry points the survey reads. */
export type Family = "js" | "python" | "go"

/** All of them, in a fixed order. */
export const families: ReadonlyArray<Family> = ["js", "python", "go"]

const familyOfLanguage: Readonly<Record<string, Family>> = {
  TypeScript: "js",
  JavaScript: "js",
  Vue: "js",
  Svelte: "js",
  Python: "python",
  Go: "go"
}

/** The extensions of each language: first of program text, then of other text. */
const languages = [
  "TypeScript:ts,tsx,mts,cts JavaScript:js,jsx,mjs,cjs Vue:vue Svelte:svelte Python:py,pyi Go:go Rust:rs Java:java "
  + "Kotlin:kt,kts Scala:scala,sc C:c,h C++:cc,cpp,cxx,hpp,hh C#:cs Ruby:rb PHP:php Swift:swift Elixir:ex,exs Haskell:hs "
  + "Lua:lua Dart:dart Zig:zig Perl:pl,pm,t R:r Shell:sh,bash,zsh,fish SQL:sql",
  "HTML:html,htm CSS:css,scss,sass,less Markdown:md,mdx,rst,adoc JSON:json,jsonc,json5 YAML:yaml,yml TOML:toml Text:txt"
].map((each) => each.split(" ").map((pair) => pair.split(":")))

const byExtension = new Map(
  languages.flat().flatMap(([language = "", extensions = ""]) =>
    extensions.split(",").map((extension) => [extension, language] as const)
  )
)
const codeLanguages = new Set(languages[0]?.map(([language]) => language))

/** The last name of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The folder that a path is in; empty for the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

/** A path without its extension. */
export const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.[^./]*$/, "")

/** Compares texts by code units, so that every machine sorts alike. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The language of a file, `other` if unknown. */
export const languageOf = (path: string): string =>
  byExtension.get(/[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "") ?? "other"

/** Whether program text is written in a language. */
export const isCodeLanguage = (language: string): boolean => codeLanguages.has(language)

/** Whether a file holds program text. */
export const isCode = (path: string): boolean => isCodeLanguage(languageOf(path))

/** Which reader of imports a file needs, if any. */
export const familyOf = (path: string): Family | undefined => familyOfLanguage[languageOf(path)]

/** The files of a family, as grep takes them. */
export const includeOf = (family: Family): string => {
  const extensions = [...byExtension].flatMap(([extension, of]) => familyOfLanguage[of] === family ? [extension] : [])
  return extensions.length === 1 ? `*.${extensions[0]}` : `*.{${extensions.join(",")}}`
}

/** Whether a file is a test or belongs to tests. */
export const isTest = (path: string): boolean =>
  /(^|\/)(tests?|__tests__|specs?|e2e|testdata|fixtures|__mocks__)\/|[._-](test|spec)\.[a-z]+$|_test\.(go|py)$|(^|\/)(test_[^/]*\.py|conftest\.py)$/
    .test(path)

/** Whether a survey skips a file: dependencies, build results and caches that a project forgot to ignore. */
const isIgnored = (path: string): boolean =>
  /(^|\/)(node_modules|bower_components|\.git|\.hg|\.svn|dist|build|out|target|coverage|vendor|\.?venv|__pycache__|\.tox|\.nox|\.\w+_cache|site-packages|\.next|\.nuxt|\.svelte-kit|\.turbo|\.cache|\.gradle|\.idea)\//
    .test(path)

/** Whether a file may contain secrets, so that reading it needs a person's permission, which a survey does not request. */
export const isSecret = (path: string): boolean => /\.env(\.|$)/.test(path) && !path.endsWith(".env.example")

/** Whether a file is generated: it is counted as a file, and its content is ignored. */
export const isGenerated = (path: string): boolean =>
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[^/]+\.lock)$|\.(min\.(js|css)|map|svg|snap)$/
    .test(path)

/** Whether a file describes its folder. */
export const isManifest = (path: string): boolean =>
  /(^|\/)(package\.json|pyproject\.toml|setup\.py|go\.mod)$/.test(path)

/** A module with its files. */
export interface Module {
  readonly path: string
  readonly files: ReadonlyArray<string>
}

const isOwnCode = (file: string): boolean => isCode(file) && !isTest(file)

const codeOf = ({ files }: Module): number => files.filter(isOwnCode).length

/** The files of a folder are separate modules if there are few of them in a small project. */
const few = { beside: 12, inAll: 40 }

/** More modules say less. With packages there may be more, but not so many that nobody reads them. */
const most = { modules: 40, rows: 120 }

/** A folder's subfolders, its single files in a small project, and the rest of its own files. */
const divide = ({ files, path }: Module, isSmall: boolean): ReadonlyArray<Module> => {
  const prefix = path === "./" ? "" : path
  const own = files.filter((file) => isOwnCode(file) && folderOf(file) === prefix.slice(0, -1))
  const isSplit = isSmall && own.length > 1 && own.length <= few.beside
  const parts = Map.groupBy(files, (file) => {
    const slash = file.indexOf("/", prefix.length)
    return slash >= 0 ? file.slice(0, slash + 1) : isSplit && isOwnCode(file) ? file : `${prefix || "./"}*`
  })
  return [...parts].map(([part, within]) => ({ path: part, files: within }))
}

/** If there are too many modules, the smallest ones of the folder that has most become one. */
const merge = (modules: ReadonlyArray<Module>): ReadonlyArray<Module> => {
  const parentOf = ({ path }: Module): string => path.endsWith("/") ? folderOf(path.slice(0, -1)) : `${path}\n`
  const [parent, widest = []] = [...Map.groupBy(modules, parentOf)].toSorted(([, a], [, b]) => b.length - a.length)[0]
    ?? []
  if (modules.length <= most.rows || parent === undefined || widest.length < 2) return modules
  const rest = new Set(
    widest.toSorted((a, b) => codeOf(b) - codeOf(a) || b.files.length - a.files.length)
      .slice(Math.max(0, widest.length - (modules.length - most.rows) - 1))
  )
  const files = [...rest].flatMap((each) => each.files)
  return merge([...modules.filter((each) => !rest.has(each)), { path: parent === "" ? "./" : `${parent}/`, files }])
}

/** The files that a survey covers, sorted. */
export const surveyed = (files: Iterable<string>): ReadonlyArray<string> =>
  [...files].filter((file) => !isIgnored(file)).toSorted(byText)

/** Divides the files of a project into modules, sorted by path: packages if there are several, else the larger folders. */
export const modulesOf = (files: ReadonlyArray<string>): ReadonlyArray<Module> => {
  if (files.length === 0) return []
  const whole: Module = { path: "./", files }
  const code = codeOf(whole)
  const isSmall = code <= few.inAll
  const packages = new Set(
    files.filter((file) => isManifest(file) && !isTest(file)).map((file) => `${folderOf(file)}/`)
  )
  packages.delete("/")
  const packagesIn = (module: Module): ReadonlyArray<Module> =>
    divide(module, false).flatMap((each) =>
      packages.has(each.path) || ![...packages].some((path) => path.startsWith(each.path)) ? [each] : packagesIn(each)
    )
  let modules = packages.size > 1 ? packagesIn(whole) : divide(whole, isSmall)
  const enough = packages.size > 1 ? 3 : Math.min(14, Math.max(3, Math.ceil(code / 4)))
  const settled = new Set<string>()
  for (;;) {
    const next = modules.filter((each) =>
      each.path.endsWith("/") && !settled.has(each.path) && codeOf(each) > 1
      && (!packages.has(each.path) || modules.length < 3 || codeOf(each) > code / 2)
    ).reduce<Module | undefined>((a, b) => (a === undefined || codeOf(b) > codeOf(a) ? b : a), undefined)
    if (next === undefined || (modules.length >= enough && codeOf(next) <= code * 0.35)) break
    settled.add(next.path)
    const parts = divide(next, isSmall)
    const isSame = parts.length === 1 && parts[0]?.path.endsWith("/*")
    if (isSame || modules.length - 1 + parts.length > most.modules) continue
    modules = modules.flatMap((each) => (each === next ? parts : [each]))
  }
  return merge(modules).toSorted((a, b) => byText(a.path, b.path))
}

/** Finds the module of a file. */
export const ownerIn = (modules: ReadonlyArray<string>): (file: string) => string | undefined => {
  const known = new Set(modules)
  return (file) => {
    if (known.has(file)) return file
    const beside = `${folderOf(file) || "."}/*`
    if (known.has(beside)) return beside
    for (let folder = folderOf(file); folder !== ""; folder = folderOf(folder)) {
      if (known.has(`${folder}/`)) return `${folder}/`
    }
    return known.has("./") ? "./" : undefined
  }
}

/** Finds the module of an import: its target may be a folder or a name in a file, and its extension missing or different. */
export const targetIn = (modules: ReadonlyArray<string>): (target: string) => string | undefined => {
  const owner = ownerIn(modules)
  const known = new Set(modules)
  const files = new Map(
    modules.filter((path) => !/\/\*?$/.test(path)).flatMap((path) => [
      [withoutExtension(path), path],
      [path, path]
    ])
  )
  return (target) => {
    const names = ["", "/index", "/__init__", "/main"].map((name) => `${target}${name}`)
    return [withoutExtension(target), ...names].map((path) => files.get(path)).find((path) => path !== undefined)
      ?? [`${target}/`, `${target}/*`].find((path) => known.has(path)) ?? files.get(folderOf(target)) ?? owner(target)
  }
}

/** A module's path for display: `src/a`, `src/*`, `a.ts`. */
export const label = (path: string): string => path === "./" ? "." : path === "./*" ? "(top)" : path.replace(/\/$/, "")

/** A folder to search, empty for the working directory; only these files directly in it, or only these folders in it. */
export interface Place {
  readonly path: string
  readonly names?: ReadonlyArray<string>
  readonly folders?: ReadonlyArray<string>
}

/** How many names one call takes. */
const mostNames = 60

/** Files as places. */
const named = (files: ReadonlyArray<string>): ReadonlyArray<Place> =>
  [...Map.groupBy(files, folderOf)].flatMap(([path, within]) =>
    Array.from({ length: Math.ceil(within.length / mostNames) }, (_, at) => ({
      path,
      names: within.slice(at * mostNames, (at + 1) * mostNames).map(baseName)
    }))
  )

/** The places of modules. */
export const placesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Place> => [
  ...modules.flatMap(({ path }) => path.endsWith("/") ? [{ path: path === "./" ? "" : path.slice(0, -1) }] : []),
  ...named(modules.flatMap(({ files, path }) => (path.endsWith("/") ? [] : files)))
]

/** Smaller places that are together the same: half of the folders each, and groups of files. Empty if it cannot be divided. */
export const splitPlace = ({ folders, names, path }: Place, files: ReadonlyArray<string>): ReadonlyArray<Place> => {
  const halves = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
    all.length < 2 ? [] : [all.slice(0, Math.ceil(all.length / 2)), all.slice(Math.ceil(all.length / 2))]
  if (names !== undefined) return halves(names).map((half) => ({ path, names: half }))
  const [first, second] = folders ?? []
  const top = folders !== undefined && first !== undefined && second === undefined
    ? [path, first].filter(Boolean).join("/")
    : path
  if (folders !== undefined && top === path) return halves(folders).map((half) => ({ path, folders: half }))
  const parts = divide({
    path: `${top || "."}/`,
    files: files.filter((file) => top === "" || file.startsWith(`${top}/`))
  }, false)
  const below = parts.filter((part) => part.path.endsWith("/")).map((part) => baseName(label(part.path)))
  return [
    ...(below.length === 1
      ? [{ path: top, folders: below }]
      : halves(below).map((half) => ({ path: top, folders: half }))),
    ...placesOf(parts.filter((part) => !part.path.endsWith("/")))
  ]
}

/** What one subagent surveys. */
export interface Part {
  readonly label: string
  readonly modules: ReadonlyArray<Module>
}

/** More subagents gain nothing; more places for one of them take too many calls. */
const bounds = { parts: 12, places: 3 }

/** A few words for people: the path of one module, the last names of several. */
const nameOf = (modules: ReadonlyArray<Module>): string => {
  const [first] = modules
  if (first !== undefined && modules.length === 1) return label(first.path)
  const names = modules.map(({ path }) => (path.endsWith("/*") ? label(path) : baseName(label(path))))
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")}, …`
}

/** Groups modules into parts: the smallest neighbours first. */
export const partsOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Part> => {
  const size = (group: ReadonlyArray<Module>): number => group.reduce((sum, each) => sum + each.files.length, 0)
  const files = size(modules)
  const count = files < 6 ? 1 : Math.min(bounds.parts, Math.max(3, Math.ceil(files / 6)))
  let groups = modules.map((module): ReadonlyArray<Module> => [module])
  while (groups.length > count) {
    const pairs = groups.slice(1).map((group, at) => ({ at, both: [...groups[at] ?? [], ...group] }))
      .filter(({ both }) => placesOf(both).length <= bounds.places).toSorted((a, b) => size(a.both) - size(b.both))
    const [best] = pairs
    if (best === undefined) break
    groups = groups.toSpliced(best.at, 2, best.both)
  }
  return groups.map((group) => ({ label: nameOf(group), modules: group }))
}
