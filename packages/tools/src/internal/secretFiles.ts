/** Finds the files of Skein's own that no call may see: its database, its tokens, its trust. */
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import { makeKnownPlaces, recordsBeside } from "./knownPlaces.ts"
import { isOwnForm } from "./ownForms.ts"
import { attempt } from "./processes.ts"
import { isIn } from "./within.ts"

/** Where they are, absolute. */
export interface SecretPlaces {
  /** Where Skein keeps its files. Long outputs, the trees of isolated tasks and workspaces in it are not secret. */
  readonly dataDirectory?: string | undefined
  /** More files and directories. */
  readonly secret?: ReadonlyArray<string> | undefined
  /** The register of all programs of Skein of this user: their files are secret as well. */
  readonly register?: string | undefined
}

/** Decides which files are secret. All paths are real. */
export interface SecretFiles {
  /** Whether a path is secret, or another name of a secret file. */
  readonly has: (real: string) => boolean
  /** Whether a path is a second name of a secret file. */
  readonly isAlias: (real: string) => boolean
  /** The tree of an isolated task, or the workspace, in which a path lies. */
  readonly treeOf: (real: string) => string | undefined
  /** The known secret files and directories. */
  readonly places: () => ReadonlyArray<string>
  /**
   * The secret files and directories; if a directory lies in one, all in that but the way to the directory. Other trees
   * and workspaces are not secret, but they are apart.
   */
  readonly apart: (directory: string) => ReadonlyArray<string>
}

/** The part of a data directory with long outputs, which are not secret. */
const outputs = "spill"

/** The parts in which trees are, each in a directory for its repository or session. All around the trees is secret. */
const rooms = ["workspaces", "worktrees"]

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

/** A place and what is in it. */
type Kind = "data" | "outputs" | "room" | "secret"

/** What a path is: secret, in a tree, or open to all. */
type Found = { readonly is: "open" | "secret" } | { readonly is: "tree"; readonly tree: string }

/** What a path below a room is. A tree is a directory. */
const inRoom = (room: string, [group = "", name = ""]: ReadonlyArray<string>): Found => {
  const tree = join(room, group, name)
  const isTree = name !== ""
    && attempt(() => NodeFs.lstatSync(tree, { throwIfNoEntry: false })?.isDirectory() === true, false)
  return isTree ? { is: "tree", tree } : { is: "secret" }
}

const below = (kind: Kind, place: string, names: ReadonlyArray<string>): Found => {
  const [first = "", ...rest] = names
  if (kind === "outputs") return { is: "open" }
  if (kind === "room") return inRoom(place, names)
  if (kind === "data" && first === outputs) return { is: "open" }
  return kind === "data" && rooms.includes(first) ? inRoom(join(place, first), rest) : { is: "secret" }
}

/** Makes it. Places are looked up at each decision: they may be created, linked or mounted at any time. */
export const makeSecretFiles = ({ dataDirectory, register, secret = [] }: SecretPlaces): SecretFiles => {
  const known = makeKnownPlaces(register)
  const ofUser = register === undefined ? [] : [register, recordsBeside(register)]
  const kinds = (): ReadonlyMap<string, Kind> => {
    const others = known()
    const data = [...(dataDirectory === undefined ? [] : [dataDirectory]), ...others.map((each) => each.dataDirectory)]
    const secrets = [...secret, ...ofUser, ...others.flatMap((each) => each.secret)]
    // The parts of a data directory may be links to another disk. If a path is several of these, the last one counts.
    return new Map([
      ...secrets.map((path) => [realOf(path), "secret"] as const),
      ...data.map((path) => [realOf(path), "data"] as const),
      ...data.flatMap((path) => rooms.map((name) => [realOf(join(path, name)), "room"] as const)),
      ...data.map((path) => [realOf(join(path, outputs)), "outputs"] as const)
    ])
  }

  const find = (real: string): Found | undefined => {
    const places = kinds()
    const identities = new Map([...places].flatMap(([path, kind]) => {
      const identity = identityOf(path)
      return identity === undefined ? [] : [[identity, kind] as const]
    }))
    for (let path = real;; path = dirname(path)) {
      const kind = places.get(path) ?? identities.get(identityOf(path) ?? "")
      if (kind !== undefined) return below(kind, path, real.slice(path.length + 1).split("/"))
      if (path === dirname(path)) return undefined
    }
  }

  const secretPlaces = () => [...kinds()].flatMap(([path, kind]) => kind === "outputs" ? [] : [path])

  const isAlias = (real: string): boolean => {
    if (!hasOtherNames(real)) return false
    const places = [...kinds()]
    const opened = places.flatMap(([path, kind]) => kind === "outputs" || kind === "room" ? [path] : [])
    const closed = places.flatMap(([path, kind]) => kind === "data" || kind === "secret" ? [path] : [])
    return identitiesOf(filesIn(closed, opened)).has(identityOf(real) ?? "")
  }

  const has = (real: string): boolean => {
    const found = find(real)
    return found === undefined ? isOwnForm(real) || isAlias(real) : found.is === "secret"
  }

  const around = (place: string, directory: string, opened: ReadonlyArray<string>): ReadonlyArray<string> =>
    entriesOf(place).flatMap((path) => {
      if (opened.some((each) => isIn(each, path))) return []
      if (!isIn(directory, path)) return [path]
      return find(path)?.is === "tree" ? [] : around(path, directory, opened)
    })

  return {
    has,
    isAlias,
    treeOf: (real) => {
      const found = find(real)
      return found?.is === "tree" ? found.tree : undefined
    },
    places: secretPlaces,
    apart: (directory) => {
      const opened = [...kinds()].flatMap(([path, kind]) => kind === "outputs" ? [path] : [])
      return [
        ...new Set(
          secretPlaces().flatMap((place) => isIn(directory, place) ? around(place, directory, opened) : [place])
        )
      ]
    }
  }
}
