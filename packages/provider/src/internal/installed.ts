/** Finds and loads packages that the user has installed beside the config. */
import * as Option from "effect/Option"
import { type Fields, fields, parseJson } from "./json.ts"

const conditions = new Set(["import", "node", "module", "default"])

/** What `exports` of a package says of its main module: the first condition that holds, however deep. */
const mainOf = (exported: unknown): string | undefined => {
  if (typeof exported === "string") return exported
  if (Array.isArray(exported)) return exported.map(mainOf).find((path) => path !== undefined)
  const found = fields(exported)
  if (found === undefined) return undefined
  if (found["."] !== undefined) return mainOf(found["."])
  return Object.entries(found).flatMap(([name, value]) => conditions.has(name) ? mainOf(value) ?? [] : [])[0]
}

/** The main module of a package that is installed in a directory, or of the file at an absolute path. */
const locate = async (name: string, directory: string): Promise<string | undefined> => {
  const { isAbsolute, dirname, join } = await import("node:path")
  if (isAbsolute(name)) return name
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
  const { exports, main, module } = Option.getOrUndefined(
    Option.flatMap(parseJson(readFileSync(manifest, "utf8")), (found) => Option.fromNullable(fields(found)))
  ) ?? {}
  const path = mainOf(exports) ?? [module, main].find((each) => typeof each === "string") ?? "index.js"
  return join(dirname(manifest), String(path))
}

/** Loads what a package exports; undefined if it is not installed there. Rejects with what the package throws. */
export const loadInstalled = async (name: string, directory: string): Promise<Fields | undefined> => {
  const path = await locate(name, directory)
  if (path === undefined) return undefined
  const { pathToFileURL } = await import("node:url")
  const exported: unknown = await import(pathToFileURL(path).href)
  return fields(exported) ?? {}
}
