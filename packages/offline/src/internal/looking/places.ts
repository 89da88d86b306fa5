/** Chooses where a subagent looks: the fewest folders that hold its modules, and their grep arguments. */
import { baseName, type Family, familyOf, folderOf, includeOf } from "../language.ts"
import type { Module } from "../modules.ts"

/** A folder to search. With `names`, only these files directly in it. */
export interface Place {
  /** Empty for the working directory. */
  readonly path: string
  readonly names: ReadonlyArray<string> | undefined
}

/** The places of modules. */
export const placesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Place> => {
  const named = new Map<string, Array<string>>()
  const places: Array<Place> = []
  for (const { files, path } of modules) {
    if (path.endsWith("/")) places.push({ path: path === "./" ? "" : path.slice(0, -1), names: undefined })
    else if (path.endsWith("/*") && files.length === 0) {
      places.push({ path: path === "./*" ? "" : path.slice(0, -2), names: undefined })
    } else {
      for (const file of files) named.set(folderOf(file), [...(named.get(folderOf(file)) ?? []), baseName(file)])
    }
  }
  return [...places, ...[...named].map(([path, names]) => ({ path, names }))]
}

/** A name inside a wildcard: special characters become `?`. */
const literal = (name: string): string => name.replace(/[[\]{}*?,!\\]/g, "?")

const anyOf = (names: ReadonlyArray<string>): string =>
  names.length === 1 ? literal(names[0] ?? "") : `{${names.map(literal).join(",")}}`

/** The grep arguments for a place; undefined if it names no file of the family. */
export const within = (
  place: Place,
  family?: Family
): { readonly path: string; readonly include?: string } | undefined => {
  if (place.names === undefined) {
    return family === undefined ? { path: place.path } : { path: place.path, include: includeOf(family) }
  }
  const names = family === undefined ? place.names : place.names.filter((name) => familyOf(name) === family)
  return names.length === 0 ? undefined : { path: place.path, include: anyOf(names) }
}

/** The names in a wildcard that was made of names. */
export const namesIn = (include: string): ReadonlyArray<string> =>
  include.startsWith("{") ? include.slice(1, -1).split(",") : [include]
