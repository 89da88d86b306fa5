/**
 * Decides from a path alone what a file is: its language, whether it is a test, and whether a survey reads it at all.
 */

/** Languages whose imports and entry points the survey reads. */
export type Family = "js" | "python" | "go"

/** All of them, in a fixed order. */
export const families: ReadonlyArray<Family> = ["js", "python", "go"]

interface Kind {
  readonly language: string
  readonly code: boolean
  readonly family: Family | undefined
}

/** Each language with its extensions, and whether it is program text. */
const table: ReadonlyArray<readonly [language: string, extensions: string, code: boolean, family?: Family]> = [
  ["TypeScript", "ts tsx mts cts", true, "js"],
  ["JavaScript", "js jsx mjs cjs", true, "js"],
  ["Vue", "vue", true, "js"],
  ["Svelte", "svelte", true, "js"],
  ["Python", "py pyi", true, "python"],
  ["Go", "go", true, "go"],
  ["Rust", "rs", true],
  ["Java", "java", true],
  ["Kotlin", "kt kts", true],
  ["Scala", "scala sc", true],
  ["C", "c h", true],
  ["C++", "cc cpp cxx hpp hh", true],
  ["C#", "cs", true],
  ["Ruby", "rb", true],
  ["PHP", "php", true],
  ["Swift", "swift", true],
  ["Elixir", "ex exs", true],
  ["Haskell", "hs", true],
  ["Lua", "lua", true],
  ["Dart", "dart", true],
  ["Zig", "zig", true],
  ["Perl", "pl pm t", true],
  ["R", "r", true],
  ["Shell", "sh bash zsh fish", true],
  ["SQL", "sql", true],
  ["HTML", "html htm", false],
  ["CSS", "css scss sass less", false],
  ["Markdown", "md mdx rst adoc", false],
  ["JSON", "json jsonc json5", false],
  ["YAML", "yaml yml", false],
  ["TOML", "toml", false],
  ["Text", "txt", false]
]

const kinds: ReadonlyMap<string, Kind> = new Map(
  table.flatMap(([language, extensions, code, family]) =>
    extensions.split(" ").map((extension): readonly [string, Kind] => [extension, { language, code, family }])
  )
)

/** The last name of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The folder that a path is in; empty for the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

/** The last name of a path without its extension. */
export const stem = (path: string): string => baseName(path).replace(/(?<=.)\.[^.]*$/, "")

const extensionOf = (path: string): string => {
  const name = baseName(path)
  const dot = name.lastIndexOf(".")
  return dot <= 0 ? "" : name.slice(dot + 1).toLowerCase()
}

const kindOf = (path: string): Kind | undefined => kinds.get(extensionOf(path))

/** The language of a file, `other` if unknown. */
export const languageOf = (path: string): string => kindOf(path)?.language ?? "other"

/** Whether a file holds program text. */
export const isCode = (path: string): boolean => kindOf(path)?.code ?? false

const codeLanguages = new Set(table.flatMap(([language, , code]) => (code ? [language] : [])))

/** Whether program text is written in a language. */
export const isCodeLanguage = (language: string): boolean => codeLanguages.has(language)

/** Which reader of imports a file needs, if any. */
export const familyOf = (path: string): Family | undefined => kindOf(path)?.family

/** The extensions of a family, as a wildcard that grep takes. */
export const includeOf = (family: Family): string => {
  const extensions = [...kinds].filter(([, kind]) => kind.family === family).map(([extension]) => extension)
  return extensions.length === 1 ? `*.${extensions[0]}` : `*.{${extensions.join(",")}}`
}

const testFolder = /(^|\/)(tests?|__tests__|specs?|e2e|testdata|fixtures|__mocks__)\//
const testFile = /[._-](test|spec)\.[a-z]+$|_test\.(go|py)$|(^|\/)(test_[^/]*\.py|conftest\.py)$/

/** Whether a file is a test or belongs to tests. */
export const isTest = (path: string): boolean => testFolder.test(path) || testFile.test(path)

const ignored = (
  "node_modules bower_components .git .hg .svn dist build out target coverage vendor .venv venv __pycache__ .tox .nox "
  + ".mypy_cache .pytest_cache .ruff_cache site-packages .next .nuxt .svelte-kit .turbo .cache .gradle .idea"
).split(" ")

const ignoredFolder = new RegExp(`(^|/)(${ignored.join("|").replaceAll(".", "\\.")})/`)

/** Whether a survey skips a file: dependencies, build results and caches that a project forgot to ignore. */
export const isIgnored = (path: string): boolean => ignoredFolder.test(path)

/**
 * Whether a file may contain secrets, so that reading it needs a person's permission, which a survey does not request.
 */
export const isSecret = (path: string): boolean => /\.env(\.|$)/.test(path) && !path.endsWith(".env.example")

/** Whether a file is generated: its lines are counted, and its content is ignored. */
export const isGenerated = (path: string): boolean =>
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|[^/]+\.lock)$/.test(path)
  || /\.(min\.(js|css)|map|svg|snap)$/.test(path)

/** Names of files that describe a folder. */
export const manifestNames = ["package.json", "pyproject.toml", "setup.py", "go.mod"] as const

/** Whether a file describes its folder. */
export const isManifest = (path: string): boolean => manifestNames.some((name) => name === baseName(path))

/** Compares texts by code units, so that every machine sorts alike. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
