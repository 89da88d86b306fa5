/**
 * Finds the files of Skein's own that no call may see: its database, its tokens, its trust. Owns the register in which
 * all programs of Skein of a user write down where they keep such files.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import { attempt, isIn, namesIn, realOf, textOf } from "./disk.ts"

/** The record of a server, in which its token is. */
const server = /\/servers\/[\da-f]{16}\.json(?:\.\w+)?$/i

/** A database, with the files that SQLite makes next to it. */
const database = /\/skein\.db(?:-\w+)?$/i

/** What else lies in a data directory: trust, logins, kept steps, and the records of worktrees. */
const inData =
  /\/skein\/(?:trust\.json(?:\.\w+)?$|mcp-logins\/.|steps\/ses_\w+\.git(?:\/|$)|worktrees\/[\da-f]{16}\/ses_\w+\.json(?:\.\w+)?$)/i

/** The proof that a host of a cluster sees a directory, also before it has its name. */
const proof = /\/(?:\.git\/skein-host|\.skein-host\/nonce)(?:\.[\da-f]+)?$/i

/** Whether an absolute path has the form of a file of Skein's own that no call may see. */
export const isOwnForm = (path: string): boolean =>
  server.test(path) || database.test(path) || inData.test(path) || proof.test(path)

/** Where such a proof lies in a directory of git. */
export const proofIn = (git: string): string => `${git}/skein-host`

const KnownPlace = Schema.Struct({
  /** The data directory, absolute. */
  dataDirectory: Schema.String,
  /** More files and directories that no call may see, absolute. */
  secret: Schema.Array(Schema.String)
})

/** Where one program of Skein keeps its files. */
type KnownPlace = typeof KnownPlace.Type

/**
 * Where all programs of a user keep the records of their sandboxes' placeholders: they may have data directories of their own
 * and work in one project.
 */
const recordsBeside = (register: string): string => join(dirname(register), "placeholders")

/** Where the records of one program are. */
export const recordsIn = (
  { dataDirectory, register }: { readonly dataDirectory: string; readonly register?: string | undefined }
): string => register === undefined ? join(dataDirectory, "placeholders") : recordsBeside(register)

const decode = Schema.decodeUnknownOption(Schema.parseJson(KnownPlace))

/** More entries than this are not read. */
const most = 500

const isUsable = (path: string): boolean => path.startsWith("/") && path !== "/"

const entryIn = (register: string, name: string): KnownPlace | undefined => {
  const text = textOf(join(register, name))
  const found = decode(text)
  if (found._tag === "None" || !isUsable(found.value.dataDirectory)) return undefined
  return { ...found.value, secret: found.value.secret.filter(isUsable) }
}

const entryNames = (register: string): ReadonlyArray<string> =>
  namesIn(register).filter((name) => /^[\da-f]{16}\.json$/.test(name)).slice(0, most)

/** Reads the register. It is read again when an entry was added or removed; until then the answer is the same array. */
export const makeKnownPlaces = (register: string | undefined): () => ReadonlyArray<KnownPlace> => {
  const none: ReadonlyArray<KnownPlace> = []
  if (register === undefined) return () => none
  let changed: bigint | undefined
  let known: ReadonlyArray<KnownPlace> = []
  return () => {
    const now = attempt(() => NodeFs.statSync(register, { bigint: true, throwIfNoEntry: false })?.ctimeNs, undefined)
    if (now === undefined) return none
    if (now !== changed) {
      known = entryNames(register).flatMap((name) => entryIn(register, name) ?? [])
      changed = now
    }
    return known
  }
}

const enter = (register: string, place: KnownPlace): void => {
  const text = `${JSON.stringify(place)}\n`
  const name = `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.json`
  NodeFs.mkdirSync(register, { recursive: true, mode: 0o700 })
  for (const each of entryNames(register)) {
    const found = entryIn(register, each)
    const isGone = found === undefined ||
      ![found.dataDirectory, ...found.secret].some((path) => NodeFs.existsSync(path))
    if (isGone && each !== name) NodeFs.rmSync(join(register, each), { force: true })
  }
  const file = join(register, name)
  if (NodeFs.existsSync(file)) return
  NodeFs.writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 })
  NodeFs.renameSync(`${file}.${process.pid}`, file)
}

/** Enters a program of Skein, and removes entries whose files are gone. A program runs without its entry, too. */
export const enterPlace = (register: string, place: KnownPlace): Effect.Effect<void> =>
  Effect.catchAll(
    Effect.try(() => enter(register, place)),
    ({ error }) =>
      Effect.logDebug(
        `Other programs of Skein will not know where this one keeps its files: ${register} cannot be written`,
        error
      )
  )

/** Where they are, absolute. */
interface SecretPlaces {
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
  /**
   * Whether a path is secret, and otherwise the tree of an isolated task, or the workspace, in which it lies; and whether it
   * is a file with other names.
   */
  readonly look: (real: string) => { readonly secret: boolean; readonly tree?: string; readonly linked: boolean }
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

/** What a file is, whatever its name: it may be mounted twice, or its names may ignore case; and whether it has other names. */
export const statOf = (path: string): { readonly identity: string | undefined; readonly hasOtherNames: boolean } => {
  const stat = attempt(() => NodeFs.statSync(path, { bigint: true, throwIfNoEntry: false }), undefined)
  return {
    identity: stat === undefined || stat.ino === 0n ? undefined : `${stat.dev}:${stat.ino}`,
    hasOtherNames: stat?.isFile() === true && stat.nlink > 1n
  }
}

const identityOf = (path: string): string | undefined => statOf(path).identity

const identitiesOf = (paths: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(paths.map(identityOf).filter((each) => each !== undefined))

const entriesOf = (directory: string): ReadonlyArray<string> => namesIn(directory).map((name) => join(directory, name))

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

/** The places, by path and by what is there, and what they were found by. */
interface Places {
  readonly kinds: ReadonlyMap<string, Kind>
  readonly identities: ReadonlyMap<string, Kind>
  /** The directories that hold them. */
  readonly directories: ReadonlyArray<string>
  readonly state: string
  /** What directories outside of all places were, when that was found. */
  readonly outside: Map<string, string>
}

/** At most this many directories are known to be outside of all places. */
const mostOutside = 1_000

/** What directories are, and when something in them was created, removed or renamed. Programs can set back `mtime`, but not `ctime`. */
export const stateOf = (directories: ReadonlyArray<string>): string => {
  let state = ""
  for (const directory of directories) {
    const stat = attempt(() => NodeFs.statSync(directory, { throwIfNoEntry: false }), undefined)
    state += stat === undefined ? ";" : `${stat.dev}:${stat.ino}:${stat.ctimeMs};`
  }
  return state
}

/**
 * Makes it. Places are resolved when they are first needed, and again when a directory that holds one of them changes: they
 * may be created, linked or mounted at any time.
 */
export const makeSecretFiles = ({ dataDirectory, register, secret = [] }: SecretPlaces): SecretFiles => {
  const known = makeKnownPlaces(register)
  const ofUser = register === undefined ? [] : [register, recordsBeside(register)]
  const own = dataDirectory === undefined ? [] : [dataDirectory]
  // The files of other programs are resolved together with these, or when one of them enters or leaves the register.
  const holding = [...new Set([...own, ...[...own, ...secret, ...ofUser].map((path) => dirname(path))])]

  const resolve = (others: ReadonlyArray<KnownPlace>): ReadonlyMap<string, Kind> => {
    const data = [...own, ...others.map((each) => each.dataDirectory)]
    const secrets = [...secret, ...ofUser, ...others.flatMap((each) => each.secret)]
    // The parts of a data directory may be links to another disk. If a path is several of these, the last one counts.
    return new Map([
      ...secrets.map((path) => [realOf(path), "secret"] as const),
      ...data.map((path) => [realOf(path), "data"] as const),
      ...data.flatMap((path) => rooms.map((name) => [realOf(join(path, name)), "room"] as const)),
      ...data.map((path) => [realOf(join(path, outputs)), "outputs"] as const)
    ])
  }

  let kept: Places | undefined
  let resolved: ReadonlyArray<KnownPlace> = []
  const places = (): Places => {
    const others = known()
    if (kept !== undefined && others === resolved && stateOf(kept.directories) === kept.state) return kept
    const before = stateOf(holding)
    const all = resolve(others)
    // A place that is a link, or lies behind one, is held by a directory elsewhere, too.
    const held = [...own, ...secret, ...ofUser].map((path) => dirname(realOf(path)))
    const beyond = [...new Set(held)].filter((directory) => !holding.includes(directory))
    const identities = new Map([...all].flatMap(([path, kind]) => {
      const identity = identityOf(path)
      return identity === undefined ? [] : [[identity, kind] as const]
    }))
    kept = {
      kinds: all,
      identities,
      directories: [...holding, ...beyond],
      state: before + stateOf(beyond),
      outside: new Map()
    }
    resolved = others
    return kept
  }

  const find = (real: string, first = statOf(real)): Found | undefined => {
    const { identities, kinds, outside } = places()
    const parent = dirname(real)
    for (let path = real;; path = dirname(path)) {
      const identity = (path === real ? first.identity : identityOf(path)) ?? ""
      const kind = kinds.get(path) ?? identities.get(identity)
      if (kind !== undefined) return below(kind, path, real.slice(path.length + 1).split("/"))
      // A directory is still in the same directories if it is the same one under the same path.
      if (path === parent && outside.get(path) === identity && identity !== "") return undefined
      if (path === dirname(path)) break
    }
    if (outside.size >= mostOutside) outside.clear()
    outside.set(parent, identityOf(parent) ?? "")
    return undefined
  }

  const secretPlaces = () => [...places().kinds].flatMap(([path, kind]) => kind === "outputs" ? [] : [path])

  const isAlias = (real: string, { hasOtherNames, identity = "" } = statOf(real)): boolean => {
    if (!hasOtherNames) return false
    const all = [...places().kinds]
    const opened = all.flatMap(([path, kind]) => kind === "outputs" || kind === "room" ? [path] : [])
    const closed = all.flatMap(([path, kind]) => kind === "data" || kind === "secret" ? [path] : [])
    return identitiesOf(filesIn(closed, opened)).has(identity)
  }

  const look = (real: string) => {
    const stat = statOf(real)
    const linked = stat.hasOtherNames
    const found = find(real, stat)
    if (found === undefined) return { secret: isOwnForm(real) || isAlias(real, stat), linked }
    return found.is === "tree"
      ? { secret: false, tree: found.tree, linked }
      : { secret: found.is === "secret", linked }
  }

  const around = (place: string, directory: string, opened: ReadonlyArray<string>): ReadonlyArray<string> =>
    entriesOf(place).flatMap((path) => {
      if (opened.some((each) => isIn(each, path))) return []
      if (!isIn(directory, path)) return [path]
      return find(path)?.is === "tree" ? [] : around(path, directory, opened)
    })

  return {
    has: (real) => look(real).secret,
    look,
    isAlias: (real) => isAlias(real),
    places: secretPlaces,
    apart: (directory) => {
      const opened = [...places().kinds].flatMap(([path, kind]) => kind === "outputs" ? [path] : [])
      return [
        ...new Set(
          secretPlaces().flatMap((place) => isIn(directory, place) ? around(place, directory, opened) : [place])
        )
      ]
    }
  }
}
