/** Decides what a command may change outside of its tree, because somebody has consented to that. */
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import { attempt } from "../processes.ts"
import { isIn } from "../within.ts"

/** What may be changed, and what in it may not. */
export interface ApprovedPlaces {
  readonly writable: ReadonlyArray<string>
  readonly readable: ReadonlyArray<string>
}

/** A directory with more in it is not opened for a new name: each thing in it costs a mount. */
const most = 1_000

/** The directory in which something is to be made, and that what is there stays as it is. */
const placeFor = (path: string, approved: ReadonlyArray<string>): ApprovedPlaces | undefined => {
  const parent = dirname(path)
  const names = attempt(() => NodeFs.readdirSync(parent), undefined)
  if (names === undefined || names.length > most) return undefined
  const others = names.map((name) => join(parent, name)).filter((each) => !approved.some((one) => isIn(one, each)))
  // Where a link leads cannot be mounted over, and is not opened by this.
  return { writable: [parent], readable: others.filter((each) => !isLink(each)) }
}

const isReal = (path: string): boolean => attempt(() => NodeFs.realpathSync(path), "") === path

/** What has to be made first for a path to be there; the path itself where it is, or its directory. */
const firstMissing = (path: string): string => {
  const parent = dirname(path)
  return parent === path || NodeFs.existsSync(parent) ? path : firstMissing(parent)
}

const isLink = (path: string): boolean => attempt(() => NodeFs.lstatSync(path).isSymbolicLink(), true)

/**
 * What is there is opened itself, unless it leads elsewhere by now; for what is not there its directory, unless that is so
 * much that it cannot have been meant.
 */
export const approvedPlaces = (options: {
  /** What may be written. */
  readonly approved: ReadonlyArray<string>
  /** What may also be moved, removed or be put in the place of: that is done in the directory where it is. */
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
