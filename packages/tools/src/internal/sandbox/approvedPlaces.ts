/** Decides what a command may change outside of its tree because it was approved. */
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import { attempt } from "../processes.ts"
import { isIn } from "../within.ts"

/** What may be changed, and what in it may not. */
export interface ApprovedPlaces {
  readonly writable: ReadonlyArray<string>
  readonly readable: ReadonlyArray<string>
}

/** A larger directory is not made writable for a new name, because each of its entries costs a mount. */
const most = 1_000

/** A directory in which something may be created, while its existing entries stay read-only. */
const placeFor = (path: string, approved: ReadonlyArray<string>): ApprovedPlaces | undefined => {
  const parent = dirname(path)
  const names = attempt(() => NodeFs.readdirSync(parent), undefined)
  if (names === undefined || names.length > most) return undefined
  const others = names.map((name) => join(parent, name)).filter((each) => !approved.some((one) => isIn(one, each)))
  // The target of a link cannot be mounted over, and this does not make it writable.
  return { writable: [parent], readable: others.filter((each) => !isLink(each)) }
}

const isReal = (path: string): boolean => attempt(() => NodeFs.realpathSync(path), "") === path

/** What has to be created first for a path to exist: the path itself if it exists, or its directory. */
const firstMissing = (path: string): string => {
  const parent = dirname(path)
  return parent === path || NodeFs.existsSync(parent) ? path : firstMissing(parent)
}

const isLink = (path: string): boolean => attempt(() => NodeFs.lstatSync(path).isSymbolicLink(), true)

/**
 * An existing file becomes writable itself, unless it now leads elsewhere. For a new file its directory becomes
 * writable, unless that is too large to be meant.
 */
export const approvedPlaces = (options: {
  /** What may be written. */
  readonly approved: ReadonlyArray<string>
  /** What may also be moved, removed or replaced, which changes its directory. */
  readonly reached: ReadonlyArray<string>
  readonly directory: string
  readonly home: string | undefined
}): ApprovedPlaces => {
  const { approved, directory, home, reached } = options
  const all = [...approved, ...reached]
  const writable = new Set<string>()
  const readable = new Set<string>()
  const isTooMuch = (path: string) => path === "/" || path === home || isIn(directory, path)
  const within = (path: string) => {
    const parent = dirname(path)
    return isTooMuch(parent) || !isReal(parent) ? undefined : placeFor(path, all)
  }
  const open = (place: ApprovedPlaces | undefined) => {
    for (const each of place?.writable ?? []) writable.add(each)
    for (const each of place?.readable ?? []) readable.add(each)
  }
  const itself = (path: string) => (isReal(path) ? { writable: [path], readable: [] } : undefined)
  for (const path of approved) {
    if (path === "/" || isIn(path, directory)) continue
    open(NodeFs.existsSync(path) ? itself(path) : within(path))
  }
  for (const path of reached.map(firstMissing)) {
    if (isTooMuch(path) || isIn(path, directory)) continue
    open(within(path) ?? itself(path))
  }
  return { writable: [...writable], readable: [...readable].filter((path) => !writable.has(path)) }
}
