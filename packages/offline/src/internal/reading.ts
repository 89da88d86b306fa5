/** Reads facts from lines of source, manifests and documentation, and has the patterns that find such lines. */
import { isTextNested } from "@skein/core/Nesting"
import * as Option from "effect/Option"
import { baseName, type Family, familyOf, folderOf, isGenerated, isTest } from "./project.ts"
import type { Fact } from "./toolbox.ts"

/** Patterns for grep. */
export const patterns = {
  /** Every line: the count is the size of a file. */
  anyLine: "^",
  imports: {
    js:
      `^\\s*(import|export)\\b.*\\bfrom\\s*["']|^\\s*import\\s*["']|^\\s*\\}\\s*from\\s*["']|\\b(require|import)\\s*\\(\\s*["']`,
    python: `^\\s*(import\\s+[A-Za-z_]|from\\s+[.\\w]+\\s+import\\b)`,
    go: `^import\\b|^\\)|^\\s+([\\w.]+\\s+)?"[^"]+"\\s*(//.*)?$`
  } satisfies Record<Family, string>,
  exports:
    `^export\\s|^(module\\.)?exports\\b|^(async\\s+)?def [A-Za-z]|^class [A-Za-z]|^func (\\([^)]*\\) )?[A-Z]|^type [A-Z]`,
  /** Entry points and TODOs. */
  marks:
    `^#!|^func main\\(\\)|__name__\\s*==|\\brunMain\\s*\\(|\\.listen\\s*\\(|\\bcreateRoot\\s*\\(|\\brequire\\.main\\b|\\bimport\\.meta\\.main\\b|\\bprocess\\.argv\\b|=\\s*(FastAPI|Flask)\\(|\\b(TODO|FIXME|HACK|XXX)\\b`
}

/** An import as written: `path:` and a place in the tree, perhaps without extension; else `npm:`, `python:`, `go:` and a name. */
export interface Import {
  readonly line: number
  readonly target: string
}

const builtins = {
  npm:
    "assert async_hooks buffer child_process cluster console constants crypto dgram dns domain events fs http http2 https "
    + "inspector module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers "
    + "tls trace_events tty url util v8 vm wasi worker_threads zlib",
  python:
    "__future__ abc argparse array distutils imp asynchat asyncore ast asyncio atexit base64 bdb binascii bisect builtins bz2 "
    + "calendar cgi cmath cmd code codecs collections colorsys compileall concurrent configparser contextlib contextvars copy "
    + "copyreg csv ctypes curses dataclasses datetime dbm decimal difflib dis doctest email encodings enum errno faulthandler "
    + "fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib "
    + "heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging lzma "
    + "mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator optparse os pathlib pdb pickle pkgutil "
    + "platform plistlib posixpath pprint profile pstats pty pwd py_compile queue quopri random re readline reprlib resource "
    + "runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat "
    + "statistics string stringprep struct subprocess symtable sys sysconfig syslog tarfile tempfile termios textwrap "
    + "threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata "
    + "unittest urllib uuid venv warnings wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo"
}
const isBuiltin = { npm: new Set(builtins.npm.split(" ")), python: new Set(builtins.python.split(" ")) }

/** Joins a relative path to a folder; undefined if it leaves the tree. */
const resolvePath = (folder: string, path: string): string | undefined => {
  const names = folder === "" ? [] : folder.split("/")
  for (const name of path.split("/")) {
    if (name === ".." && names.pop() === undefined) return undefined
    if (!["..", ".", ""].includes(name)) names.push(name)
  }
  return names.join("/")
}

/** Whether the text before a place in a line leaves a string open, so that the place is inside it. */
const isInString = (before: string): boolean => {
  const plain = before.replace(/\\./g, "")
  return ["\"", "'", "`"].some((quote) => (plain.split(quote).length - 1) % 2 === 1)
}

const fromJs = ({ path, text }: Fact): ReadonlyArray<string | undefined> => {
  if (/^\s*(\/\/|\*|\/\*)/.test(text)) return []
  const statement = /^\s*(?:(?:import|export)\b[^"'`]*\bfrom|import|\}\s*from)\s*["']([^"']+)["']/.exec(text)?.[1]
  const called = [...text.matchAll(/(?<![\w.$])(?:require|import)\s*\(\s*["']([^"'\s]+)["']/g)]
    .filter((match) => !isInString(text.slice(0, match.index))).map((match) => match[1] ?? "")
  return (statement === undefined ? called : [statement]).map((written) => {
    const specifier = written.replace(/\?.*$/, "")
    const folder = folderOf(path)
    const place = (target: string | undefined) => target === undefined ? undefined : `path:${target}`
    if (/^\.{1,2}(\/|$)/.test(specifier)) return place(resolvePath(folder, specifier))
    // By convention, `@/` and `~/` are the source folder of the file.
    const source = /^(.*?\bsrc)(\/|$)/.exec(folder)?.[1]
    if (/^[@~]\//.test(specifier)) return source === undefined ? undefined : `path:${source}/${specifier.slice(2)}`
    const name = /^(?:@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(?=\/|$)/i.exec(specifier)?.[0]
    return name === undefined || isBuiltin.npm.has(name) ? undefined : `npm:${name}`
  })
}

const fromPython = ({ path, text }: Fact): ReadonlyArray<string | undefined> => {
  const known = (name: string): string | undefined =>
    isBuiltin.python.has(name.split(".")[0] ?? "") || name.startsWith("_") ? undefined : `python:${name}`
  const firsts = (list: string) =>
    list.replace(/[#;].*$/, "").split(",").map((each) => each.trim().split(/\s/)[0] ?? "")
  const plain = /^\s*import\s+([A-Za-z_][\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)\s*(?:[#;].*)?$/.exec(
    text
  )
  if (plain !== null) return firsts(plain[1] ?? "").map(known)
  const [, dots, module = "", names = ""] = /^\s*from\s+(\.*)([\w.]*)\s+import\s*(.*)/.exec(text) ?? []
  if (dots === undefined || !/^[(*\w]/.test(names)) return []
  // What is imported may be a module below the named one, so the resolver gets the longer path.
  const below = /^\w/.test(names) ? firsts(names).map((name) => (module === "" ? name : `${module}.${name}`)) : [module]
  if (dots === "") return below.slice(0, 1).map(known)
  return [...new Set(below)].map((name) => {
    const target = resolvePath(folderOf(path), `${"../".repeat(dots.length - 1)}${name.replaceAll(".", "/")}`)
    return target === undefined ? undefined : `path:${target}`
  })
}

/** The lines between `import (` and `)`. Packages of the standard library have no dot in their first name. */
const fromGo = (lines: ReadonlyArray<Fact>): ReadonlyArray<Import> => {
  let inside = false
  return lines.flatMap(({ line, text }) => {
    if (/^import\s*\(/.test(text)) inside = true
    else if (/^(\)|func\b|type\b|var\b|const\b)/.test(text)) inside = false
    const name = (inside ? /^\s+(?:[\w.]+\s+)?"([^"]+)"/ : /^import\s+(?:[\w.]+\s+)?"([^"]+)"/).exec(text)?.[1]
    return name === undefined || !/^[^/]*\./.test(name) ? [] : [{ line, target: `go:${name}` }]
  })
}

/** The imports in lines of one file, in order, without the standard library. */
export const importsOf = (lines: ReadonlyArray<Fact>): ReadonlyArray<Import> => {
  const family = familyOf(lines[0]?.path ?? "")
  if (family === undefined) return []
  if (family === "go") return fromGo(lines)
  const read = family === "js" ? fromJs : fromPython
  return lines.flatMap((at) => read(at).flatMap((target) => (target === undefined ? [] : [{ line: at.line, target }])))
}

const entryRules: ReadonlyArray<readonly [Family, RegExp, says: string]> = [
  ["go", /^func main\(\)/, "main function"],
  ["python", /^if\s+__name__\s*==\s*["']__main__["']/, "runs as a script"],
  ["python", /=\s*FastAPI\(/, "FastAPI application"],
  ["python", /=\s*Flask\(/, "Flask application"],
  ["js", /\brunMain\s*\(/, "runs the program"],
  ["js", /\b(app|server|https?|fastify|express|koa|api|io)\.listen\s*\(/i, "server listens"],
  ["js", /\bcreateRoot\s*\(/, "renders the page"],
  ["js", /\brequire\.main\s*===?\s*module|\bmodule\s*===?\s*require\.main|\bimport\.meta\.main\b/, "runs as a script"],
  ["js", /\bprocess\.argv\b/, "reads the command line"]
]

/** The entry points in lines of one file: each kind once. */
export const entriesOf = (lines: ReadonlyArray<Fact>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path ?? ""
  if (isTest(path) || isGenerated(path)) return []
  const rules = entryRules.filter(([family]) => family === familyOf(path))
  const found = lines.flatMap((at): ReadonlyArray<Fact> => {
    const program = at.line === 1 ? /^#!\s*(?:\S*\/env\s+(?:-\S+\s+)*)?(\S+)/.exec(at.text)?.[1] : undefined
    if (program !== undefined) return [{ ...at, text: `executable, run by ${baseName(program)}` }]
    const rule = /^\s*(\/\/|\*|\/\*|#)/.test(at.text) ? undefined : rules.find(([, pattern]) => {
      const match = pattern.exec(at.text)
      return match !== null && !isInString(at.text.slice(0, match.index))
    })
    return rule === undefined ? [] : [{ ...at, text: rule[2] }]
  })
  return found.filter((entry, index) => found.findIndex((other) => other.text === entry.text) === index)
}

const keyword = /^[\s*#/!-]*(TODO|FIXME|HACK|XXX)\b(?!["'`|/])|\b(TODO|FIXME|HACK|XXX)(\([^)]*\))?:/
const inComment = /\/\/|\/\*|#|--|<!--|(?<=^\s*)\*/g
const inText = /<!--|^\s*[-*>]?\s*(\[ \]\s*)?(?=TODO|FIXME)/g

/** The TODOs in comments of one file. Strings and URLs do not count. */
export const todosOf = (lines: ReadonlyArray<Fact>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path ?? ""
  const markers = /\.(md|mdx|rst|adoc|txt)$/.test(path) ? inText : inComment
  return isGenerated(path) ? [] : lines.flatMap((at) => {
    for (const marker of at.text.matchAll(markers)) {
      const said = at.text.slice(marker.index + marker[0].length)
      const isComment = at.text[marker.index - 1] !== ":" && !isInString(at.text.slice(0, marker.index))
      if (!isComment || !keyword.test(said)) continue
      const text = said.slice(said.search(/\b(TODO|FIXME|HACK|XXX)\b/)).replace(/\s*(\*\/|-->)\s*$/, "").trim()
      return [{ ...at, text }]
    }
    return []
  })
}

const plain = (text: string): string =>
  text.replace(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, "").replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/<[^>]+>/g, "").replace(/\*\*|__/g, "").trim()

const isProse = (text: string): boolean =>
  /[\p{L}\p{N}]/u.test(plain(text))
  && !/^\s*(#|```|[-*+|>]\s|\d+\.\s|[=~^-]{3}|\[[^\]]+\]:|\.\. |:[\w-]+:|image:|<h\d|<?https?:\/\/\S+\s*$)/i.test(text)

/** Whether a paragraph warns its readers, and does not say what the project is. */
const isNotice = (text: string): boolean =>
  /^[^\p{L}\p{N}]*(note|notice|warning|important|caution|attention|deprecated|archived|disclaimer)\b|^\s*[\u26A0\u{1F6A7}\u{1F6A8}\u2757]|\bannounc\w+\b|\b(has|have|was) (been )?(moved|renamed|archived|deprecated)\b|\bno longer (being )?(maintained|developed|supported)\b/iu
    .test(text)

/** The heading of a README, unless prose comes before it, and its first paragraph that is no notice. */
export const readIntroduction = (lines: ReadonlyArray<Fact>): { readonly title?: Fact; readonly text?: Fact } => {
  let hidden = ""
  // Comments and code blocks are no prose.
  const shown = lines.map((at) => {
    const end = hidden
    if (end === "") hidden = /^\s*<!--/.test(at.text) ? "-->" : /^\s*```/.test(at.text) ? "```" : ""
    const isHidden = hidden !== ""
    if (isHidden && at.text.slice(end === "" ? 4 : 0).includes(hidden)) hidden = ""
    return isHidden ? { ...at, text: "" } : at
  })
  const from = shown.findIndex((at) => isProse(at.text))
  const isUnderlined = /^=+\s*$/.test(shown[from + 1]?.text ?? "")
  const titleOf = (text: string): string =>
    plain(/^#{1,2}\s+(.+)$/.exec(text)?.[1] ?? /<h1[^>]*>(.*?)(<\/h1>|$)/i.exec(text)?.[1] ?? "")
  const heading = isUnderlined ?
    shown[from] :
    shown.slice(0, from < 0 ? undefined : from).find((at) =>
      titleOf(at.text) !== "" && !/^(table of )?contents$/i.test(titleOf(at.text))
    )
  const title = heading && { ...heading, text: titleOf(heading.text) || plain(heading.text) }
  let rest = shown.slice(isUnderlined ? from + 2 : Math.max(from, 0))
  for (;;) {
    rest = rest.slice(Math.max(0, rest.findIndex((at) => isProse(at.text))))
    const [first] = rest
    if (first === undefined || !isProse(first.text)) return title === undefined ? {} : { title }
    const end = rest.findIndex((at) => !isProse(at.text))
    const text = rest.slice(0, end < 0 ? undefined : end).map((at) => plain(at.text)).join(" ")
    if (!isNotice(text)) return { ...(title === undefined ? {} : { title }), text: { ...first, text } }
    rest = end < 0 ? [] : rest.slice(end)
  }
}

const isFormality = (text: string): boolean =>
  text === ""
  || /copyright|licen[sc]e|spdx|eslint|@ts-|prettier|go:build|\+build|coding[:=]|-\*-|generated|type: ignore|noqa|flake8/i
    .test(text)

/** The first sentence of the first comment before the first statement that says something. */
export const readDocComment = (lines: ReadonlyArray<Fact>): Fact | undefined => {
  for (let at = 0; at < lines.length;) {
    const first = lines[at]
    if (first === undefined) break
    const quote = /^[rRuU]?("""|''')/.exec(first.text)?.[1]
    const isBlock = /^\s*\/\*/.test(first.text)
    const isLine = /^(\/\/|#(?!!))/.test(first.text)
    if (quote === undefined && !isBlock && !isLine) {
      if (!/^\s*$|^#!|^["']use |^from __future__/.test(first.text)) break
      at++
      continue
    }
    const close = isBlock ? "*/" : quote ?? ""
    const end = lines.findIndex(({ text }, index) =>
      index >= at && (isLine
        ? !/^(\/\/|#(?!!))/.test(lines[index + 1]?.text ?? "")
        : text.slice(index === at ? text.indexOf(close.slice(0, 1)) + close.length : 0).includes(close))
    )
    const own = lines.slice(at, end < 0 ? undefined : end + 1).map(({ text }) =>
      text.replace(isLine ? /^(\/+|#+)\s?/ : isBlock ? /^\s*(\/\*+|\*(?!\/))|\*\/.*$/g : /"""|'''/g, "").trim()
    )
    // A docstring's first paragraph.
    const blank = quote === undefined
      ? -1
      : own.findIndex((text, index) => index > 0 && text === "" && own[index - 1] !== "")
    const text = own.slice(0, blank < 0 ? undefined : blank).filter((each) => each !== "").join(" ")
    if (!isFormality(text)) {
      return { ...first, text: (/^.*?[.:!?](?=\s|$)/.exec(text)?.[0] ?? text).replace(/:$/, "") }
    }
    at += own.length
  }
  return undefined
}

/** A manifest. `line` is the line of the name, which is empty where the file gives none. */
export interface Manifest {
  readonly path: string
  readonly line: number
  readonly kind: "npm" | "python" | "go"
  readonly name: string
  readonly description: Fact | undefined
  readonly entries: ReadonlyArray<Fact>
  /** Whether it is the root of a workspace. */
  readonly workspace: boolean
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The first path in an `exports` value. */
const firstPath = (value: unknown): string | undefined =>
  typeof value === "string" ? value : isRecord(value)
    ? Object.entries(value).flatMap(([key, each]) => (key === "types" ? [] : firstPath(each) ?? []))[0]
    : undefined

const readPackage = (path: string, lines: ReadonlyArray<Fact>): Manifest | undefined => {
  const text = lines.map((at) => at.text).join("\n")
  // JSON that is nested too deeply cannot be walked.
  const json = isTextNested(text) ? undefined : Option.getOrUndefined(parseJson(text))
  if (!isRecord(json)) return undefined
  /** The line of a key, at or below the line of its section. */
  const lineOf = (key: string, section?: string): number => {
    const has = (name: string) => (at: Fact) => at.text.includes(`"${name}"`) && at.text.includes(":")
    const from = section === undefined ? 0 : Math.max(0, lines.findIndex(has(section)))
    return (lines.slice(from).find(has(key)) ?? lines[from])?.line ?? 1
  }
  const entry = (line: number, says: string): Fact => ({ path, line, text: says.replace("  ", " ") })
  // Paths in a manifest are relative to it; paths in the report are relative to the top.
  const fromTop = (file: unknown) => resolvePath(folderOf(path), textOf(file)) ?? textOf(file)
  const { bin, exports, main, module, scripts } = json
  const name = textOf(json["name"])
  const commands = typeof bin === "string" ? { [baseName(name)]: bin } : isRecord(bin) ? bin : {}
  const target = exports === undefined
    ? textOf(module) || textOf(main)
    : firstPath(isRecord(exports) ? exports["."] : exports)
  return {
    path,
    line: lineOf("name"),
    kind: "npm",
    name,
    description: textOf(json["description"]) === ""
      ? undefined
      : entry(lineOf("description"), textOf(json["description"])),
    entries: [
      ...Object.entries(commands).map(([command, file]) =>
        entry(isRecord(bin) ? lineOf(command, "bin") : lineOf("bin"), `command ${command} -> ${fromTop(file)}`)
      ),
      ...["start", "dev", "serve", "develop", "preview"].flatMap((script) =>
        isRecord(scripts) && typeof scripts[script] === "string"
          ? [entry(lineOf(script, "scripts"), `npm ${script === "start" ? "" : "run "}${script} -> ${scripts[script]}`)]
          : []
      ),
      ...(target
        ? [entry(
          lineOf(exports === undefined ? (textOf(module) === "" ? "main" : "module") : "exports"),
          `library ${name} -> ${fromTop(target)}`
        )]
        : [])
    ],
    workspace: json["workspaces"] !== undefined
  }
}

/** The `key = "text"` lines of a TOML file or of `setup.py`, each with its table. Other values are ignored. */
const assignments = (lines: ReadonlyArray<Fact>) => {
  let table = ""
  return lines.flatMap(({ line, text }) => {
    const heading = /^\s*\[+([^\]]+)\]+\s*(#.*)?$/.exec(text)?.[1]
    if (heading !== undefined) table = heading.trim()
    const pair = heading === undefined ? /^\s*["']?([\w.-]+)["']?\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(text) : null
    return pair === null ? [] : [{ table, key: pair[1] ?? "", value: pair[2] ?? pair[3] ?? "", line }]
  })
}

const readPython = (path: string, lines: ReadonlyArray<Fact>): Manifest => {
  const isSetup = baseName(path) === "setup.py"
  const texts = assignments(lines)
  const find = (key: string) =>
    texts.find((at) => (isSetup || at.table === "project" || at.table === "tool.poetry") && at.key === key)
  const description = find("description")
  const commands = isSetup
    ? lines.flatMap(({ line, text }) => {
      const [, key, value] = /["']\s*([\w.-]+)\s*=\s*([\w.]+:\w+)\s*["']/.exec(text) ?? []
      return key === undefined ? [] : [{ key, value, line }]
    })
    : texts.filter(({ table }) => /^(project\.(gui-)?scripts|tool\.poetry\.scripts)$/.test(table))
  return {
    path,
    line: find("name")?.line ?? 1,
    kind: "python",
    name: find("name")?.value ?? "",
    description: description && { path, line: description.line, text: description.value },
    entries: commands.map(({ key, line, value }) => ({ path, line, text: `command ${key} -> ${value}` })),
    workspace: texts.some((at) => at.table.startsWith("tool.uv.workspace"))
  }
}

/** Reads a manifest from its lines; undefined if it cannot be parsed. */
export const readManifest = (path: string, lines: ReadonlyArray<Fact>): Manifest | undefined => {
  switch (baseName(path)) {
    case "package.json":
      return readPackage(path, lines)
    case "pyproject.toml":
    case "setup.py":
      return readPython(path, lines)
    case "go.mod": {
      const at = lines.find(({ text }) => /^module\s+\S/.test(text))
      const [, name = ""] = at?.text.split(/\s+/) ?? []
      return at && { path, line: at.line, kind: "go", name, description: undefined, entries: [], workspace: false }
    }
    default:
      return undefined
  }
}
