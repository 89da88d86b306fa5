/** Decides where a subagent looks: the fewest folders that hold its modules, and how a place is given to grep. */
import { baseName, type Family, familyOf, folderOf, includeOf } from "../language.ts"
import type { Module } from "../modules.ts"

/** A folder to look into; with `names` only these files right in it count. */
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

/** A name in a wildcard: what has a meaning there becomes `?`. */
const literal = (name: string): string => name.replace(/[[\]{}*?,!\\]/g, "?")

const anyOf = (names: ReadonlyArray<string>): string =>
  names.length === 1 ? literal(names[0] ?? "") : `{${names.map(literal).join(",")}}`

/** Where grep looks for a place; undefined where no file of the family is named. */
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

/** The names that a wildcard made of names stands for. */
export const namesIn = (include: string): ReadonlyArray<string> =>
  include.startsWith("{") ? include.slice(1, -1).split(",") : [include]
