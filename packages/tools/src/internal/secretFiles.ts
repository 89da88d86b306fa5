/** Finds the files of Skein's own that no call may see: its database, its tokens, its trust. */
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import { attempt } from "./processes.ts"
import { isIn } from "./within.ts"

/** Where they are, absolute. */
export interface SecretPlaces {
  /** Where Skein keeps its files. Long outputs, the trees of isolated tasks and workspaces in it are not secret. */
  readonly dataDirectory?: string | undefined
  /** More files and directories. */
  readonly secret?: ReadonlyArray<string> | undefined
}

/** Decides which files are secret. All paths are real. */
export interface SecretFiles {
  /** Whether a path is secret, or another name of a secret file. */
  readonly has: (real: string) => boolean
  /** Whether a path is a second name of a secret file. */
  readonly isAlias: (real: string) => boolean
  /** The secret files and directories; if a directory lies in one, all in that but the way to the directory. */
  readonly apart: (directory: string) => ReadonlyArray<string>
}

/** The parts of the data directory that are not secret. */
const open = ["spill", "workspaces", "worktrees"]

/** Files with several names are compared with at most this many secret ones. */
const mostFiles = 5_000

/** The real path, also of what does not exist. */
export const realOf = (path: string): string => {
  const found = attempt(() => NodeFs.realpathSync.native(path), undefined)
  if (found !== undefined) return found
  return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path))
}

/** What a file is, whatever its name: it may be mounted twice, or its names may ignore case. */
const identityOf = (path: string): string | undefined => {
  const stat = attempt(() => NodeFs.statSync(path, { bigint: true, throwIfNoEntry: false }), undefined)
  return stat === undefined || stat.ino === 0n ? undefined : `${stat.dev}:${stat.ino}`
}

const identitiesOf = (paths: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(paths.map(identityOf).filter((each) => each !== undefined))

const hasOtherNames = (path: string): boolean => {
  const stat = attempt(() => NodeFs.statSync(path, { throwIfNoEntry: false }), undefined)
  return stat?.isFile() === true && stat.nlink > 1
}

const entriesOf = (directory: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(directory), []).map((name) => join(directory, name))

/** The files in these places, not the deepest ones. */
const filesIn = (places: ReadonlyArray<string>, opened: ReadonlyArray<string>): ReadonlyArray<string> => {
  const files: Array<string> = []
  let level = places
  for (let depth = 0; depth < 3; depth++) {
    files.push(...level)
    level = level.filter((path) => !opened.includes(path)).flatMap(entriesOf).slice(0, mostFiles)
  }
  return files
}

/** Makes it. Places are looked up at each decision: they may be created, linked or mounted at any time. */
export const makeSecretFiles = ({ dataDirectory, secret = [] }: SecretPlaces): SecretFiles => {
  const given = [...(dataDirectory === undefined ? [] : [dataDirectory]), ...secret]
  const places = () => [...new Set(given.map(realOf))]
  const opened = () => dataDirectory === undefined ? [] : open.map((name) => realOf(join(dataDirectory, name)))

  const isAlias = (real: string): boolean =>
    hasOtherNames(real) && identitiesOf(filesIn(places(), opened())).has(identityOf(real) ?? "")

  const has = (real: string): boolean => {
    const [secrets, others] = [places(), opened()]
    if (others.some((each) => isIn(real, each))) return false
    if (secrets.some((each) => isIn(real, each))) return true
    const [known, free] = [identitiesOf(secrets), identitiesOf(others)]
    for (let path = real;; path = dirname(path)) {
      const identity = identityOf(path)
      if (identity !== undefined && free.has(identity)) return false
      if (identity !== undefined && known.has(identity)) return true
      if (path === dirname(path)) break
    }
    return isAlias(real)
  }

  const around = (place: string, directory: string, others: ReadonlyArray<string>): ReadonlyArray<string> =>
    entriesOf(place).flatMap((path) => {
      if (others.some((each) => isIn(each, path) || isIn(path, each))) return []
      return isIn(directory, path) ? around(path, directory, others) : [path]
    })

  return {
    has,
    isAlias,
    apart: (directory) => {
      const others = opened()
      return places().flatMap((place) => isIn(directory, place) ? around(place, directory, others) : [place])
    }
  }
}
