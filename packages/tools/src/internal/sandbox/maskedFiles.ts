/**
 * Finds the files of a tree that may not be read without a question, which are hidden from sandboxed commands, and
 * copies config files without their credentials, which commands see instead.
 */
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt, lstatOf, textOf } from "../disk.ts"

/** Git's data has rules of its own. */
const repositories = new Set([".git", ".hg", ".svn"])

/** Directories of third-party packages and of what is built. They are large, and searched only for what rules deny. */
const generated = new Set(["node_modules", "__pycache__", ".venv", "target"])

/** Parts of the system, which every command sees or has mounted privately. Projects keep no files there. */
const system = new Set(
  ["bin", "boot", "dev", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"].map((name) => `/${name}`)
)

/** How much of a tree is checked. */
interface MaskBounds {
  /** The maximum number of directories that are read. */
  readonly directories: number
  /** The maximum number of files that are hidden individually. */
  readonly files: number
  /** The maximum number of directories that are hidden because they were not checked. */
  readonly unchecked: number
  /** The maximum number of directories that are read below packages and what is built. The others are left as they are. */
  readonly generated: number
}

const usual: MaskBounds = { directories: 20_000, files: 1_000, unchecked: 200, generated: 10_000 }

/** No file has this name. A rule that denies it denies everything in the directory. */
export const anything = "\u0001"

interface Listed {
  readonly changed: number
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  readonly generated: ReadonlyArray<string>
}

/** What is hidden in a tree. */
interface Masked {
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  /** Directories that were not fully checked. They are hidden as well. */
  readonly unchecked: ReadonlyArray<string>
}

/** Caches the entries of directories until they change, because this runs before each command. */
export const makeMaskedFiles = (given: Partial<MaskBounds> = {}): (
  directory: string,
  readAction: (path: string) => boolean,
  /** The same below packages and what is built; left out if no rule denies anything there. */
  generatedAction?: (path: string) => boolean
) => Masked => {
  const bounds = { ...usual, ...given }
  const known = new Map<string, Listed>()
  const list = (path: string): Listed => {
    // A command can set back `mtime`.
    const changed = attempt(() => NodeFs.statSync(path).ctimeMs, -1)
    const before = known.get(path)
    if (before?.changed === changed) return before
    const entries = attempt(() => NodeFs.readdirSync(path, { withFileTypes: true }), [])
    const listed = {
      changed,
      files: entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name),
      directories: entries.filter((entry) =>
        entry.isDirectory() && !generated.has(entry.name) && !repositories.has(entry.name)
      ).map(({ name }) => name),
      generated: entries.filter((entry) => entry.isDirectory() && generated.has(entry.name)).map(({ name }) => name)
    }
    if (known.size > 2 * bounds.directories) known.clear()
    known.set(path, listed)
    return listed
  }
  return (directory, readAction, generatedAction) => {
    const files: Array<string> = []
    const directories: Array<string> = []
    const unchecked: Array<string> = []
    let level: ReadonlyArray<string> = [""]
    const packages: Array<string> = []
    let looked = 0
    while (level.length > 0) {
      const next: Array<string> = []
      for (const below of level) {
        if (++looked > bounds.directories) {
          unchecked.push(below)
          continue
        }
        const found = list(join(directory, below))
        const hidden = found.files.map((name) => `${below}${name}`).filter((path) => !readAction(path))
        if (below !== "" && files.length + hidden.length > bounds.files) {
          unchecked.push(below)
          continue
        }
        files.push(...hidden.map((path) => join(directory, path)))
        for (const name of found.generated) {
          const path = `${below}${name}/`
          if (readAction(path + anything)) packages.push(path)
          else directories.push(join(directory, path))
        }
        for (const name of found.directories) {
          const path = `${below}${name}/`
          const place = join(directory, below, name)
          if (system.has(place)) continue
          if (readAction(path + anything)) next.push(path)
          else directories.push(place)
        }
      }
      level = next
    }
    // The nearest first: what lies deeper than the bound is left.
    for (let at = 0; generatedAction !== undefined && at < Math.min(packages.length, bounds.generated); at++) {
      const below = packages[at] ?? ""
      const found = list(join(directory, below))
      const hidden = found.files.map((name) => `${below}${name}`).filter((path) => !generatedAction(path))
      if (files.length + hidden.length > bounds.files) unchecked.push(below)
      else files.push(...hidden.map((path) => join(directory, path)))
      for (const name of [...found.directories, ...found.generated]) {
        const path = `${below}${name}/`
        if (generatedAction(path + anything)) packages.push(path)
        else directories.push(join(directory, path))
      }
    }
    return { files, directories, unchecked: fewer(unchecked, bounds.unchecked).map((path) => join(directory, path)) }
  }
}

/** At most this many directories that contain all of these: each costs a mount. */
const fewer = (paths: ReadonlyArray<string>, most: number): ReadonlyArray<string> => {
  const names = paths.map((path) => path.split("/").filter((name) => name !== ""))
  for (let depth = Math.max(0, ...names.map(({ length }) => length)); depth > 0; depth--) {
    const tops = new Set(names.map((each) => each.slice(0, depth).join("/")))
    if (tops.size <= most || depth === 1) return [...tops]
  }
  return []
}

/** A URL with a user or a password, a header, a helper with a secret, or a token of a registry. */
const secrets: ReadonlyArray<readonly [found: RegExp, by: string]> = [
  [/([a-z][a-z\d+.-]*:\/\/)[^\s/@"']+@/gi, "$1"],
  [/^(\s*extraheader\s*=).*$/gim, "$1"],
  [/^(\s*(?:password|pass|token|secret|sslkey)\s*=).*$/gim, "$1"],
  [/^(\s*helper\s*=).*$/gim, "$1"],
  [/^(.*(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)\s*[:=]\s*)(?!["']?\$).*$/gm, "$1"]
]

/** The text without credentials; `undefined` if there are none. */
const withoutCredentials = (text: string): string | undefined => {
  const clean = secrets.reduce((said, [found, by]) => said.replace(found, by), text)
  return clean === text ? undefined : clean
}

/** Files in the tree that may contain credentials, besides the config of its repositories. */
export const configFiles = [".npmrc", ".yarnrc.yml", ".yarnrc", ".pypirc", ".netrc"]

/** Copies of those of these files that contain credentials, in a directory that commands do not see. */
export const cleanCopies = (
  beside: string,
  files: ReadonlyArray<string>
): ReadonlyArray<readonly [path: string, by: string]> =>
  files.flatMap((path) => {
    const isFile = lstatOf(path)?.isFile() === true
    const text = isFile ? attempt(() => NodeFs.readFileSync(path, "utf8"), undefined) : undefined
    const clean = text === undefined ? undefined : withoutCredentials(text)
    if (clean === undefined) return []
    const copy = join(beside, `clean-${createHash("sha256").update(clean).digest("hex").slice(0, 16)}`)
    NodeFs.writeFileSync(copy, clean)
    return [[path, copy] as const]
  })

/** The committer: the only part of the user's git config that a command needs. */
export const identityOf = (configs: ReadonlyArray<string>): string => {
  const said = new Map<string, string>()
  for (const path of configs) {
    const text = textOf(path)
    const section = /^\[user\][^\n]*\n((?:(?!\s*\[).*\n?)*)/m.exec(text)?.[1] ?? ""
    for (const [, key = "", value = ""] of section.matchAll(/^\s*(name|email)\s*=\s*(.*?)\s*$/gm)) said.set(key, value)
  }
  return said.size === 0 ? "" : `[user]\n${[...said].map(([key, value]) => `\t${key} = ${value}\n`).join("")}`
}
