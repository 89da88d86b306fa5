/** Finds and loads packages that the user has installed beside the config. */
import * as Option from "effect/Option"
import { type Fields, fields, parseJson } from "./json.ts"

const conditions = new Set(["import", "node", "module", "default"])

/** What `exports` of a package says of an entry: the first condition that holds, however deep. */
const entryOf = (exported: unknown, entry: string): string | undefined => {
  if (typeof exported === "string") return exported
  if (Array.isArray(exported)) return exported.map((each) => entryOf(each, entry)).find((path) => path !== undefined)
  const found = fields(exported)
  if (found === undefined) return undefined
  if (found[entry] !== undefined) return entryOf(found[entry], entry)
  return Object.entries(found).flatMap(([name, value]) => conditions.has(name) ? entryOf(value, entry) ?? [] : [])[0]
}

/** The manifest of a package that is installed in a directory, and where it is. */
const manifestOf = async (name: string, directory: string): Promise<readonly [string, Fields] | undefined> => {
  const { join } = await import("node:path")
  const { findPackageJSON } = await import("node:module")
  const { readFileSync } = await import("node:fs")
  let manifest: string | undefined
  try {
    manifest = findPackageJSON(name, join(directory, "package.json"))
  } catch {
    // Node throws for a package that is not there.
    return undefined
  }
  if (manifest === undefined) return undefined
  const found = Option.getOrUndefined(parseJson(readFileSync(manifest, "utf8")))
  return [manifest, fields(found) ?? {}]
}

/** The version of an installed package; undefined if it is not installed. A file has none, and is always there. */
export const versionOf = async (name: string, directory: string): Promise<string | undefined> => {
  const { isAbsolute } = await import("node:path")
  if (isAbsolute(name)) return ""
  const found = await manifestOf(name, directory)
  return found === undefined ? undefined : String(found[1]["version"] ?? "")
}

/** The module of an entry of an installed package, or the file at an absolute path. */
const locate = async (name: string, directory: string, entry: string): Promise<string | undefined> => {
  const { isAbsolute, dirname, join } = await import("node:path")
  if (isAbsolute(name)) return name
  const found = await manifestOf(name, directory)
  if (found === undefined) return undefined
  const [manifest, { exports, main, module }] = found
  const path = entryOf(exports, entry) ?? [module, main].find((each) => typeof each === "string") ?? "index.js"
  return join(dirname(manifest), String(path))
}

/** Loads what a package exports; undefined if it is not installed there. Rejects with what the package throws. */
export const loadInstalled = async (
  name: string,
  directory: string,
  entry = "."
): Promise<Fields | undefined> => {
  const path = await locate(name, directory, entry)
  if (path === undefined) return undefined
  const { pathToFileURL } = await import("node:url")
  const exported: unknown = await import(pathToFileURL(path).href)
  return fields(exported) ?? {}
}
