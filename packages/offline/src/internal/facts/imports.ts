/** Reads imports from lines of source. */
import { type Family, familyOf, folderOf } from "../language.ts"
import type { SourceLine } from "../outputs.ts"

/** An import as written. `kind` says how to resolve it. */
export interface Import {
  readonly path: string
  readonly line: number
  /** `path` is a place in the tree, perhaps without extension. The others are names of packages or modules. */
  readonly kind: "path" | "npm" | "python" | "go"
  readonly target: string
}

/** The grep pattern of each family. */
export const importPatterns: Readonly<Record<Family, string>> = {
  js:
    `^\\s*(import|export)\\b.*\\bfrom\\s*["']|^\\s*import\\s*["']|^\\s*\\}\\s*from\\s*["']|\\b(require|import)\\s*\\(\\s*["']`,
  python: `^\\s*(import\\s+[A-Za-z_]|from\\s+[.\\w]+\\s+import\\b)`,
  go: `^import\\b|^\\)|^\\s+([\\w.]+\\s+)?"[^"]+"\\s*(//.*)?$`
}

/** Joins a relative path to a folder; undefined if it leaves the tree. */
export const resolvePath = (folder: string, path: string): string | undefined => {
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
export const insideString = (before: string): boolean => {
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
