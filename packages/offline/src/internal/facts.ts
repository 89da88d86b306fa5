/** Reads facts from lines of source, manifests and documentation, and has the patterns that find such lines. */
import { isTextNested } from "@skein/core/Nesting"
import * as Option from "effect/Option"
import { baseName, type Family, familyOf, folderOf, isGenerated, isTest, languageOf } from "./language.ts"
import type { Fact, SourceLine } from "./toolbox.ts"

/** An import as written. `kind` says how to resolve it. */
export interface Import {
  readonly path: string
  readonly line: number
  /** `path` is a place in the tree, perhaps without extension. The others are names of packages or modules. */
  readonly kind: "path" | "npm" | "python" | "go"
  readonly target: string
}

/** The grep pattern of each family. */
const importPatterns: Readonly<Record<Family, string>> = {
  js:
    `^\\s*(import|export)\\b.*\\bfrom\\s*["']|^\\s*import\\s*["']|^\\s*\\}\\s*from\\s*["']|\\b(require|import)\\s*\\(\\s*["']`,
  python: `^\\s*(import\\s+[A-Za-z_]|from\\s+[.\\w]+\\s+import\\b)`,
  go: `^import\\b|^\\)|^\\s+([\\w.]+\\s+)?"[^"]+"\\s*(//.*)?$`
}

/** Joins a relative path to a folder; undefined if it leaves the tree. */
const resolvePath = (folder: string, path: string): string | undefined => {
  const names = folder === "" ? [] : folder.split("/")
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) return undefined
    } else if (name !== "." && name !== "") names.push(name)
  }
  return names.join("/")
}

const nodeBuiltins = new Set(
  ("assert async_hooks buffer child_process cluster console constants crypto dgram dns domain events fs http http2 https "
    + "inspector module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers "
    + "tls trace_events tty url util v8 vm wasi worker_threads zlib").split(" ")
)

const pythonBuiltins = new Set(
  ("__future__ abc argparse array distutils imp asynchat asyncore ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cgi cmath cmd code "
    + "codecs collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes curses "
    + "dataclasses datetime dbm decimal difflib dis doctest email encodings enum errno faulthandler fcntl filecmp fileinput "
    + "fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http "
    + "imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math "
    + "mimetypes mmap multiprocessing netrc numbers operator optparse os pathlib pdb pickle pkgutil platform plistlib "
    + "posixpath pprint profile pstats pty pwd py_compile queue quopri random re readline reprlib resource runpy sched "
    + "secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics "
    + "string stringprep struct subprocess symtable sys sysconfig syslog tarfile tempfile termios textwrap threading time "
    + "timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest "
    + "urllib uuid venv warnings wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo")
    .split(" ")
)

const goBuiltins = new Set(
  ("archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt "
    + "go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv "
    + "strings structs sync syscall testing text time unicode unique unsafe C").split(" ")
)

/** Whether the text before a place in a line leaves a string open, so that the place is inside it. */
const insideString = (before: string): boolean => {
  const plain = before.replace(/\\./g, "")
  return ["\"", "'", "`"].some((quote) => (plain.split(quote).length - 1) % 2 === 1)
}

const jsStatements = [
  /^\s*(?:import|export)\b[^"'`]*\bfrom\s*["']([^"']+)["']/,
  /^\s*import\s*["']([^"']+)["']/,
  /^\s*\}\s*from\s*["']([^"']+)["']/
]

const jsSpecifiers = (text: string): ReadonlyArray<string> => {
  if (/^\s*(\/\/|\*|\/\*)/.test(text)) return []
  for (const statement of jsStatements) {
    const specifier = statement.exec(text)?.[1]
    if (specifier !== undefined) return [specifier]
  }
  return [...text.matchAll(/(?<![\w.$])(?:require|import)\s*\(\s*["']([^"'\s]+)["']/g)].flatMap((match) =>
    insideString(text.slice(0, match.index)) ? [] : [match[1] ?? ""]
  )
}

const fromJs = (at: SourceLine): ReadonlyArray<Import> =>
  jsSpecifiers(at.text).flatMap((raw): ReadonlyArray<Import> => {
    const specifier = raw.replace(/[?].*$/, "")
    const folder = folderOf(at.path)
    const place = (target: string | undefined): ReadonlyArray<Import> =>
      target === undefined ? [] : [{ path: at.path, line: at.line, kind: "path", target }]
    if (specifier === "." || /^\.{1,2}(\/|$)/.test(specifier)) return place(resolvePath(folder, specifier))
    if (/^[@~]\//.test(specifier)) {
      // By convention, `@/` and `~/` are the source folder of the file.
      const source = /^(.*?\bsrc)(\/|$)/.exec(folder)?.[1]
      return source === undefined ? [] : place(`${source}/${specifier.slice(2)}`)
    }
    if (!/^(@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(\/|$)/i.test(specifier)) return []
    const name = specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")
    return nodeBuiltins.has(name) ? [] : [{ path: at.path, line: at.line, kind: "npm", target: name }]
  })

const pythonName = (path: string, line: number, name: string): ReadonlyArray<Import> =>
  pythonBuiltins.has(name.split(".")[0] ?? "") || name.startsWith("_")
    ? []
    : [{ path, line, kind: "python", target: name }]

const fromPython = ({ line, path, text }: SourceLine): ReadonlyArray<Import> => {
  const plain =
    /^\s*import\s+([A-Za-z_][\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*[A-Za-z_][\w.]*(?:\s+as\s+\w+)?)*)\s*(?:#.*|;.*)?$/.exec(
      text
    )
  if (plain !== null) {
    return (plain[1] ?? "").split(",").flatMap((name) => pythonName(path, line, name.trim().split(/\s/)[0] ?? ""))
  }
  const from = /^\s*from\s+(\.*)([\w.]*)\s+import\s*(\(|\*|\w+)/.exec(text)
  if (from === null) return []
  const [, dots = "", module = "", first = ""] = from
  const names = /^\w/.test(first)
    ? text.slice(text.indexOf(" import ") + 8).replace(/#.*$/, "").split(",").map((name) =>
      name.trim().split(/\s/)[0] ?? ""
    )
    : []
  // The import may be a module below the named one, so the resolver tries the longer path first.
  const modules = names.length === 0 ? [module] : names.map((name) => (module === "" ? name : `${module}.${name}`))
  if (dots === "") return pythonName(path, line, modules[0] ?? module)
  const targets = modules.flatMap((name) => {
    const up = "../".repeat(dots.length - 1)
    const target = resolvePath(folderOf(path), `${up}${name.replaceAll(".", "/")}`)
    return target === undefined ? [] : [target]
  })
  return [...new Set(targets)].map((target) => ({ path, line, kind: "path", target }))
}

/** The lines between `import (` and `)` of a Go file. */
const fromGo = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Import> => {
  let inside = false
  return lines.flatMap(({ line, path, text }): ReadonlyArray<Import> => {
    if (/^import\s*\(/.test(text)) inside = true
    else if (/^(\)|func\b|type\b|var\b|const\b)/.test(text)) inside = false
    const target = (inside ? /^\s+(?:[\w.]+\s+)?"([^"]+)"/ : /^import\s+(?:[\w.]+\s+)?"([^"]+)"/).exec(text)?.[1]
    return target === undefined || goBuiltins.has(target.split("/")[0] ?? "")
      ? []
      : [{ path, line, kind: "go", target }]
  })
}

/** The imports in lines of one file, in order, without the standard library. */
export const importsOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Import> => {
  switch (lines[0] === undefined ? undefined : familyOf(lines[0].path)) {
    case "js":
      return lines.flatMap(fromJs)
    case "python":
      return lines.flatMap(fromPython)
    case "go":
      return fromGo(lines)
    case undefined:
      return []
  }
}

/** How a README begins. */
interface Introduction {
  readonly title: Fact | undefined
  readonly text: Fact | undefined
}

const plain = (text: string): string =>
  text.replace(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, "").replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/<[^>]+>/g, "").replace(/\*\*|__/g, "").trim()

const headingOf = (text: string): string | undefined => {
  const title = plain(/^#{1,2}\s+(.+)$/.exec(text)?.[1] ?? /<h1[^>]*>(.*?)(<\/h1>|$)/i.exec(text)?.[1] ?? "")
  return title === "" || /^(table of )?contents$/i.test(title) ? undefined : title
}

const isProse = (text: string): boolean =>
  /[\p{L}\p{N}]/u.test(plain(text))
  && !/^\s*(#|```|[-*+|>]\s|\d+\.\s|[=~^-]{3}|\[[^\]]+\]:|\.\. |:[\w-]+:|image:|<h\d|<?https?:\/\/\S+\s*$)/i.test(text)

/** Whether a paragraph warns its readers, and does not say what the project is. */
const isNotice = (text: string): boolean =>
  /^[^\p{L}\p{N}]*(note|notice|warning|important|caution|attention|deprecated|archived|disclaimer)\b/iu.test(text)
  || /\bannounc\w+\b|\b(has|have|was) (been )?(moved|renamed|archived|deprecated)\b|\bno longer (being )?(maintained|developed|supported)\b/i
    .test(text)
  || /^\s*[\u26A0\u{1F6A7}\u{1F6A8}\u2757]/u.test(text)

/** Blanks comments and code blocks. */
const visible = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<SourceLine> => {
  let comment = false
  let fenced = false
  return lines.map((at) => {
    const begins = at.text.trimStart().startsWith("<!--")
    const fence = /^\s*```/.test(at.text)
    const hidden = comment || begins || fenced || fence
    if (begins || comment) comment = !at.text.includes("-->")
    if (fence) fenced = !fenced
    return hidden ? { ...at, text: "" } : at
  })
}

/** Reads the first lines of a README: the heading, unless prose comes before it, and the first paragraph that is no notice. */
export const readIntroduction = (lines: ReadonlyArray<SourceLine>): Introduction => {
  const shown = visible(lines)
  const from = shown.findIndex((at) => isProse(at.text))
  const heading = shown.slice(0, from < 0 ? undefined : from + 1).find((at) => headingOf(at.text) !== undefined)
    ?? (/^=+\s*$/.test(shown[from + 1]?.text ?? "") ? shown[from] : undefined)
  const underlined = heading !== undefined && heading === shown[from]
  const title = heading && { ...heading, text: headingOf(heading.text) ?? plain(heading.text) }
  const rest = shown.slice(underlined ? from + 2 : Math.max(from, 0))
  for (let next = 0;;) {
    const begin = rest.findIndex((at, index) => index >= next && isProse(at.text))
    const first = rest[begin]
    if (first === undefined) return { title, text: undefined }
    const end = rest.findIndex((at, index) => index > begin && !isProse(at.text))
    const text = rest.slice(begin, end < 0 ? undefined : end).map((at) => plain(at.text)).join(" ")
    if (!isNotice(text)) return { title, text: { ...first, text } }
    if (end < 0) return { title, text: undefined }
    next = end
  }
}

interface Block {
  readonly first: SourceLine
  readonly text: string
}

const joined = (lines: ReadonlyArray<SourceLine>, clean: (text: string) => string): string =>
  lines.map((at) => clean(at.text).trim()).filter((text) => text !== "").join(" ")

/** The comments before the first statement. */
const blocksOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (let i = 0; i < lines.length;) {
    const first = lines[i]
    if (first === undefined) break
    const until = (isEnd: (at: SourceLine, index: number) => boolean): ReadonlyArray<SourceLine> => {
      const end = lines.findIndex((at, index) => index >= i && isEnd(at, index))
      return lines.slice(i, end < 0 ? undefined : end + 1)
    }
    const quote = /^[rRuU]?("""|''')/.exec(first.text)?.[1]
    if (/^\s*\/\*/.test(first.text)) {
      const own = until((at) => at.text.includes("*/"))
      blocks.push({ first, text: joined(own, (text) => text.replace(/^\s*(\/\*+|\*(?!\/))|\*\/.*$/g, "")) })
      i += own.length
    } else if (/^(\/\/|#(?!!))/.test(first.text)) {
      const own = until((_, index) => !/^(\/\/|#(?!!))/.test(lines[index + 1]?.text ?? ""))
      blocks.push({ first, text: joined(own, (text) => text.replace(/^(\/+|#+)\s?/, "")) })
      i += own.length
    } else if (quote !== undefined) {
      const own = until((at, index) =>
        (index === i ? at.text.slice(at.text.indexOf(quote) + 3) : at.text).includes(quote)
      )
      const paragraph = own.findIndex((at, index) =>
        index > 0 && at.text.trim() === "" && own[index - 1]?.text.trim() !== quote
      )
      blocks.push({
        first,
        text: joined(paragraph < 0 ? own : own.slice(0, paragraph), (text) => text.replaceAll(quote, ""))
      })
      i += own.length
    } else if (/^\s*$|^#!|^["']use |^from __future__/.test(first.text)) i++
    else break
  }
  return blocks
}

const isFormality = (text: string): boolean =>
  text === "" ||
  /copyright|licen[sc]e|spdx|eslint|@ts-|prettier|go:build|\+build|coding[:=]|-\*-|generated|type: ignore|noqa|flake8/i
    .test(text)

/** The first sentence of a source file's doc comment, if there is one. */
export const readDocComment = (lines: ReadonlyArray<SourceLine>): Fact | undefined => {
  const block = blocksOf(lines).find(({ text }) => !isFormality(text))
  if (block === undefined) return undefined
  const sentence = /^.*?[.:!?](?=\s|$)/.exec(block.text)?.[0] ?? block.text
  return { ...block.first, text: sentence.replace(/:$/, "") }
}

/** A manifest. `line` is the line of the name. */
export interface Manifest {
  readonly path: string
  readonly line: number
  readonly kind: "npm" | "python" | "go"
  /** Empty where the file gives none. */
  readonly name: string
  readonly description: Fact | undefined
  readonly entries: ReadonlyArray<Fact>
  /** Whether it is the root of a workspace. */
  readonly workspace: boolean
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Refuses JSON that is nested too deeply to walk. */
const parseJson = (text: string): Option.Option<unknown> => isTextNested(text) ? Option.none() : readJson(text)

const readJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The line of a key, at or below the line of its section. */
const lineOf = (lines: ReadonlyArray<SourceLine>, section: string | undefined, key: string): number => {
  const has = (name: string) => (at: SourceLine) => at.text.includes(`"${name}"`) && at.text.includes(":")
  const from = section === undefined ? 0 : Math.max(0, lines.findIndex(has(section)))
  return (lines.slice(from).find(has(key)) ?? lines[from])?.line ?? 1
}

/** The first path in an `exports` value. */
const firstPath = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (!isRecord(value)) return undefined
  return Object.entries(value).filter(([key]) => key !== "types").map(([, each]) => firstPath(each))
    .find((path) => path !== undefined)
}

/** Scripts that start something. */
const starters = ["start", "dev", "serve", "develop", "preview"]

const readPackage = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  const json = Option.getOrUndefined(parseJson(lines.map((at) => at.text).join("\n")))
  if (!isRecord(json)) return undefined
  const name = textOf(json["name"])
  const entry = (line: number, text: string): Fact => ({ path, line, text })
  // Paths in a manifest are relative to it; paths in the report are relative to the top.
  const fromTop = (file: string) => resolvePath(folderOf(path), file) ?? file
  const { bin, exports, scripts } = json
  const commands = typeof bin === "string"
    ? [entry(lineOf(lines, undefined, "bin"), `command ${name.split("/").at(-1) ?? name} -> ${fromTop(bin)}`)]
    : isRecord(bin)
    ? Object.entries(bin).map(([command, file]) =>
      entry(lineOf(lines, "bin", command), `command ${command} -> ${fromTop(textOf(file))}`)
    )
    : []
  const manager = isRecord(scripts)
    ? starters.flatMap((script) =>
      typeof scripts[script] === "string"
        ? [
          entry(
            lineOf(lines, "scripts", script),
            `npm ${script === "start" ? "" : "run "}${script} -> ${textOf(scripts[script])}`
          )
        ]
        : []
    )
    : []
  const main = isRecord(exports) && "." in exports
    ? firstPath(exports["."])
    : typeof exports === "string"
    ? exports
    : isRecord(exports)
    ? undefined
    : textOf(json["module"]) || textOf(json["main"]) || undefined
  const key = exports === undefined ? (textOf(json["module"]) === "" ? "main" : "module") : "exports"
  const library = main === undefined
    ? []
    : [entry(lineOf(lines, undefined, key), `library ${name} -> ${fromTop(main)}`.replace("  ", " "))]
  return {
    path,
    line: lineOf(lines, undefined, "name"),
    kind: "npm",
    name,
    description: textOf(json["description"]) === ""
      ? undefined
      : entry(lineOf(lines, undefined, "description"), textOf(json["description"])),
    entries: [...commands, ...manager, ...library],
    workspace: json["workspaces"] !== undefined
  }
}

const described = (path: string, at: { readonly line: number; readonly value: string } | undefined): Fact | undefined =>
  at === undefined || at.value === "" ? undefined : { path, line: at.line, text: at.value }

/** The `key = "text"` lines of a TOML file, each with its table. Other values are ignored. */
const tomlTexts = (lines: ReadonlyArray<SourceLine>) => {
  let table = ""
  return lines.flatMap(({ line, text }) => {
    const heading = /^\s*\[+([^\]]+)\]+\s*(#.*)?$/.exec(text)
    if (heading !== null) {
      table = (heading[1] ?? "").trim()
      return []
    }
    const pair = /^\s*["']?([\w.-]+)["']?\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(text)
    return pair === null ? [] : [{ table, key: pair[1] ?? "", value: pair[2] ?? pair[3] ?? "", line }]
  })
}

const readPyproject = (path: string, lines: ReadonlyArray<SourceLine>): Manifest => {
  const texts = tomlTexts(lines)
  const find = (key: string) =>
    texts.find((at) => (at.table === "project" || at.table === "tool.poetry") && at.key === key)
  const scripts = new Set(["project.scripts", "project.gui-scripts", "tool.poetry.scripts"])
  return {
    path,
    line: find("name")?.line ?? 1,
    kind: "python",
    name: find("name")?.value ?? "",
    description: described(path, find("description")),
    entries: texts.filter((at) => scripts.has(at.table))
      .map((at) => ({ path, line: at.line, text: `command ${at.key} -> ${at.value}` })),
    workspace: texts.some((at) => at.table.startsWith("tool.uv.workspace"))
  }
}

const readSetup = (path: string, lines: ReadonlyArray<SourceLine>): Manifest => {
  const find = (key: string) =>
    lines.flatMap((at) => {
      const match = new RegExp(`\\b${key}\\s*=\\s*["']([^"']+)["']`).exec(at.text)
      return match === null ? [] : [{ line: at.line, value: match[1] ?? "" }]
    })[0]
  return {
    path,
    line: find("name")?.line ?? 1,
    kind: "python",
    name: find("name")?.value ?? "",
    description: described(path, find("description")),
    entries: lines.flatMap((at) => {
      const match = /["']\s*([\w.-]+)\s*=\s*([\w.]+:\w+)\s*["']/.exec(at.text)
      return match === null ? [] : [{ path, line: at.line, text: `command ${match[1]} -> ${match[2]}` }]
    }),
    workspace: false
  }
}

const readGoMod = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  const at = lines.find(({ text }) => /^module\s+\S/.test(text))
  return at === undefined ? undefined : {
    path,
    line: at.line,
    kind: "go",
    name: at.text.split(/\s+/)[1] ?? "",
    description: undefined,
    entries: [],
    workspace: false
  }
}

/** Reads a manifest from its lines; undefined if it cannot be parsed. */
export const readManifest = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  switch (baseName(path)) {
    case "package.json":
      return readPackage(path, lines)
    case "pyproject.toml":
      return readPyproject(path, lines)
    case "setup.py":
      return readSetup(path, lines)
    case "go.mod":
      return readGoMod(path, lines)
    default:
      return undefined
  }
}

/** The folder of a manifest, as a module path. */
export const manifestFolder = (path: string): string => {
  const folder = folderOf(path)
  return folder === "" ? "./" : `${folder}/`
}

/** Finds entry points. */
const entryPattern =
  `^#!|^func main\\(\\)|__name__\\s*==|\\brunMain\\s*\\(|\\.listen\\s*\\(|\\bcreateRoot\\s*\\(|\\brequire\\.main\\b|\\bimport\\.meta\\.main\\b|\\bprocess\\.argv\\b|=\\s*(FastAPI|Flask)\\(`

/** Finds TODOs. */
const todoPattern = `\\b(TODO|FIXME|HACK|XXX)\\b`

/** Finds exports. */
const exportPattern =
  `^export\\s|^(module\\.)?exports\\b|^(async\\s+)?def [A-Za-z]|^class [A-Za-z]|^func (\\([^)]*\\) )?[A-Z]|^type [A-Z]`

const entryRules: ReadonlyArray<readonly [family: string, pattern: RegExp, says: string]> = [
  ["go", /^func main\(\)/, "main function"],
  ["python", /^if\s+__name__\s*==\s*["']__main__["']/, "runs as a script"],
  ["python", /=\s*FastAPI\(/, "FastAPI application"],
  ["python", /=\s*Flask\(/, "Flask application"],
  ["js", /\brunMain\s*\(/, "runs the program"],
  ["js", /\b(app|server|https?|fastify|express|koa|api|io)\.listen\s*\(/i, "server listens"],
  ["js", /\bcreateRoot\s*\(/, "renders the page"],
  ["js", /\brequire\.main\s*===?\s*module|\bmodule\s*===?\s*require\.main/, "runs as a script"],
  ["js", /\bimport\.meta\.main\b/, "runs as a script"],
  ["js", /\bprocess\.argv\b/, "reads the command line"]
]

const entryOf = (at: SourceLine, rules: typeof entryRules): Fact | undefined => {
  if (at.line === 1 && at.text.startsWith("#!")) {
    const program = /^#!\s*(?:\S*\/env\s+(?:-\S+\s+)*)?(\S+)/.exec(at.text)?.[1]
    return program === undefined ? undefined : { ...at, text: `executable, run by ${baseName(program)}` }
  }
  if (/^\s*(\/\/|\*|\/\*|#)/.test(at.text)) return undefined
  for (const [, pattern, says] of rules) {
    const match = pattern.exec(at.text)
    if (match !== null && !insideString(at.text.slice(0, match.index))) return { ...at, text: says }
  }
  return undefined
}

/** The entry points in lines of one file. */
export const entriesOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path
  if (path === undefined || isTest(path) || isGenerated(path)) return []
  const family = familyOf(path)
  const rules = entryRules.filter(([of]) => of === family)
  const entries = lines.flatMap((at) => entryOf(at, rules) ?? [])
  // Report each kind of entry point once per file.
  return entries.filter((entry, index) => entries.findIndex((other) => other.text === entry.text) === index)
}

const slashes = /\/\/|\/\*|(?<=^\s*)\*/g
const hashes = /#/g
const dashes = /--/g
const angle = /<!--/g

const markers = new Map<string, RegExp>([
  ["Python", hashes],
  ["Ruby", hashes],
  ["Shell", hashes],
  ["YAML", hashes],
  ["TOML", hashes],
  ["Elixir", hashes],
  ["SQL", dashes],
  ["Haskell", dashes],
  ["Lua", dashes],
  ["HTML", angle],
  ["Vue", /<!--|\/\/|\/\*/g],
  ["Svelte", /<!--|\/\/|\/\*/g],
  ["Markdown", /<!--|^\s*[-*>]?\s*(\[ \]\s*)?(?=TODO|FIXME)/g],
  ["Text", /^\s*[-*]?\s*(?=TODO|FIXME)/g],
  ["PHP", /\/\/|\/\*|#|(?<=^\s*)\*/g],
  ["other", /#|\/\/|\/\*/g]
])

const mentions = /\b(TODO|FIXME|HACK|XXX)\b/
const keyword = /^[\s*#/!-]*(TODO|FIXME|HACK|XXX)\b(?!["'`|/])|\b(TODO|FIXME|HACK|XXX)(\([^)]*\))?:/

const todoOf = (at: SourceLine, comment: RegExp): Fact | undefined => {
  if (!mentions.test(at.text)) return undefined
  for (const marker of at.text.matchAll(comment)) {
    const said = at.text.slice(marker.index + marker[0].length)
    const found = keyword.exec(said)
    // `://` is part of a URL, and after an open quote the marker is part of a string.
    if (found === null || at.text[marker.index - 1] === ":" || insideString(at.text.slice(0, marker.index))) continue
    return { ...at, text: said.slice(said.search(mentions)).replace(/\s*(\*\/|-->)\s*$/, "").trim() }
  }
  return undefined
}

/** The TODOs in comments of one file. Strings do not count. */
export const todosOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path
  if (path === undefined || isGenerated(path)) return []
  const comment = markers.get(languageOf(path)) ?? slashes
  return lines.flatMap((at) => todoOf(at, comment) ?? [])
}

/** Patterns for grep. */
export const patterns = {
  /** Every line: the count is the size of a file. */
  anyLine: "^",
  /** Imports, by family of languages. */
  imports: importPatterns,
  /** Exports. */
  exports: exportPattern,
  /** Entry points. */
  entries: entryPattern,
  /** TODOs in comments. */
  todos: todoPattern
}
