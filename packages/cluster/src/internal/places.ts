/**
 * Decides where a tree may be taken up: where its directory is, or anywhere if it needs none. A host proves that it sees
 * a directory by a file there: a nonce is in it, and the database has its hash. The hash also covers the number of the
 * file, so a copy of the directory proves nothing. A file with more than one name is none: the other name may be in
 * another directory.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { needsNoDirectory } from "@skein/core/Anywhere"
import { Journal } from "@skein/core/Journal"
import { Leases } from "@skein/core/Leases"
import { setWaitingTrees } from "@skein/core/Metrics"
import { missingModels, missingText } from "@skein/core/ModelChoice"
import { machineOfOwner } from "@skein/core/Owner"
import { Projects } from "@skein/core/Projects"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { type Awaited, isOn, type Machine, machineKey, Whereabouts } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { createHash, randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { lstat, mkdir, open, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { causeText, inTransaction } from "./database.ts"
import type { Member } from "./entries.ts"

/** How long its text is: 32 bytes in hexadecimal. */
const length = 64

/** Where it is without a repository. */
const folder = ".skein-host"

const attempt = <A>(act: () => Promise<A>) => Effect.option(Effect.tryPromise(act))

/** The type of what a path names, and not of what it links to. */
const kindOf = (path: string) =>
  Effect.map(
    attempt(() => lstat(path)),
    (found) => found._tag === "None" ? "nothing" : found.value.isDirectory() ? "directory" : "other"
  )

/**
 * The path of the file for a directory: in `.git` of its repository, where git does not list it, or else in a folder that git
 * ignores. Undefined in a linked worktree or a submodule, whose `.git` is a file that the project itself could have written.
 */
export const nonceFile = (directory: string): Effect.Effect<string | undefined> => {
  const above = (at: string): Effect.Effect<string | undefined> =>
    Effect.flatMap(kindOf(join(at, ".git")), (kind) => {
      if (kind === "directory") return Effect.succeed(join(at, ".git", "skein-host"))
      if (kind === "other") return Effect.succeed(undefined)
      return dirname(at) === at ? Effect.succeed(join(directory, folder, "nonce")) : above(dirname(at))
    })
  return above(directory)
}

const readNonce = async (path: string): Promise<string> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const found = await file.stat({ bigint: true })
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, 0)
    .finally(() => file.close())
  if (!found.isFile() || found.nlink > 1n || found.size !== BigInt(length) || bytesRead !== length) {
    throw new Error("It is no nonce")
  }
  return createHash("sha256").update(`${found.ino} `).update(buffer).digest("hex")
}

/** The hash of what is in the file now; undefined if there is none. */
export const nonceHash = (path: string): Effect.Effect<string | undefined> =>
  Effect.map(attempt(() => readNonce(path)), (read) => read._tag === "None" ? undefined : read.value)

const put = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  const file = await open(draft, "wx", 0o600)
  await file.writeFile(text).finally(() => file.close())
  // A link at the path is replaced, and not followed.
  await rename(draft, path).catch((cause: unknown) =>
    rm(draft, { force: true }).then(() => {
      throw cause
    })
  )
}

/** Writes a new one, and gives its hash; undefined if that is not possible, in a directory without write access for example. */
export const writeNonce = (path: string): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const place = dirname(path)
    if (place.endsWith(folder)) {
      yield* attempt(() => mkdir(place, { mode: 0o700 }))
      if ((yield* kindOf(place)) !== "directory") return undefined
      yield* attempt(() => put(join(place, ".gitignore"), "*\n"))
    }
    yield* attempt(() => put(path, randomBytes(length / 2).toString("hex")))
    return yield* nonceHash(path)
  })

/** How many trees may wait until their directory is proved. */
const most = 1_024

/** What a worktree of a task holds is in the data directory of its host, which is proved by nothing. */
const hasWorktree = (sql: SqlClient.SqlClient, rootID: SessionID) =>
  Effect.map(
    sql`SELECT 1 FROM session WHERE root_id = ${rootID} AND data LIKE '%"worktree":{%' LIMIT 1`,
    (rows) => rows.length > 0
  )

/** Whether this host sees the directory of a tree as its host does. */
export const isShared =
  (sql: SqlClient.SqlClient) => (rootID: SessionID, directory: string, machine: string): Effect.Effect<boolean> =>
    Effect.gen(function*() {
      const path = yield* nonceFile(directory)
      const hash = path === undefined ? undefined : yield* nonceHash(path)
      if (hash === undefined) return false
      const rows = yield* sql`SELECT 1 FROM cluster_directory
      WHERE host = ${machine} AND directory = ${directory} AND hash = ${hash}`
      return rows.length > 0 && !(yield* hasWorktree(sql, rootID))
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.as(Effect.logWarning("The hosts of directories could not be read", message), false)
      )
    )

/** Keeps the file in the directory, and its hash in the table. */
const prove = (sql: SqlClient.SqlClient, machine: string, directory: string) =>
  Effect.gen(function*() {
    const path = yield* nonceFile(directory)
    if (path === undefined) return
    // Two runners that write the file at once would each store what the other has replaced.
    yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`skein ${path}`}, 0))`
    const found = yield* nonceHash(path)
    const known = found === undefined
      ? []
      : yield* sql`SELECT 1 FROM cluster_directory WHERE hash = ${found} LIMIT 1`
    const hash = known.length > 0 ? found : yield* writeNonce(path)
    if (hash === undefined) return
    yield* sql`INSERT INTO cluster_directory (host, directory, hash) VALUES (${machine}, ${directory}, ${hash})
      ON CONFLICT (host, directory) DO UPDATE SET hash = excluded.hash`
  }).pipe(inTransaction(sql))

/**
 * From now on this runner proves that it sees the directories of the trees that it holds. Gives the function that checks
 * whether this host shares a directory with another one.
 */
export const makeProofs = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const held = new Set<SessionID>()
  // What does not fit comes again with the next renewal of its lease.
  const fresh = yield* Queue.dropping<SessionID>(most)
  leases.onRenewed((rootID) => {
    if (!held.has(rootID) && Queue.unsafeOffer(fresh, rootID)) held.add(rootID)
  })
  leases.onReleased((rootID) => Effect.sync(() => held.delete(rootID)))
  /** The directories of trees that are here, each once: most trees of a host share a few. */
  const directoriesOf = (rootIDs: Iterable<SessionID>) =>
    Effect.gen(function*() {
      const found = new Map<string, { readonly machine: string; readonly directory: string }>()
      for (const rootID of rootIDs) {
        const root = Option.getOrUndefined(yield* storage.session(rootID))
        if (root?.host === undefined) continue
        const { directory, host, machine } = root
        if (!isOn(leases.machine, { host, machine })) continue
        const key = machineKey({ host, machine })
        found.set(`${key} ${directory}`, { machine: key, directory })
      }
      return found.values()
    })
  const proveNext = Effect.flatMap(
    Queue.takeBetween(fresh, 1, most),
    (rootIDs) =>
      Effect.flatMap(
        directoriesOf(rootIDs),
        (found) => Effect.forEach(found, ({ directory, machine }) => prove(sql, machine, directory), { discard: true })
      ).pipe(
        // Whatever failed, the next trees must be proved all the same.
        Effect.catchAllCause((cause) => {
          for (const rootID of rootIDs) held.delete(rootID)
          return Effect.logWarning("Other hosts cannot know that they share a directory", causeText(cause))
        })
      )
  )
  yield* Effect.forkScoped(Effect.forever(proveNext))

  return isShared(sql)
})

/** The directory of a tree, and its host. */
interface Elsewhere {
  readonly host: string
  /** What tells the host from others of its name. */
  readonly machine?: string | undefined
  readonly directory: string
  /** Set if this machine has the same name. */
  readonly isNamesake?: true
  /** Set if its steps are kept for other hosts. */
  readonly isKept?: true
}

/** Where a tree says that its directory is. */
export const elsewhereOf = (
  { directory, host = "", machine, workspace }: SessionInfo,
  own: Machine | undefined
): Elsewhere => ({
  host,
  ...(machine === undefined ? {} : { machine }),
  directory,
  ...(own?.host === host ? { isNamesake: true } : {}),
  ...(workspace === undefined ? {} : { isKept: true })
})

/** Whether the directory of a tree is on another machine, which does not share it with the machine `own`. */
export const awayFrom =
  (own: Machine | undefined, shares: ReturnType<typeof isShared>) =>
  ({ directory, host, id, machine }: SessionInfo): Effect.Effect<boolean> =>
    host === undefined || isOn(own, { host, machine })
      ? Effect.succeed(false)
      : Effect.map(shares(id, directory, machineKey({ host, machine })), (shared) => !shared)

/** Whether an owner is on the machine of a tree. */
export const isBeside = ({ host = "", machine }: Pick<SessionInfo, "host" | "machine">) => (owner: string): boolean =>
  isOn(machineOfOwner(owner), { host, machine })

const copyText = (rootID: SessionID, host: string): string =>
  `If ${host} is gone permanently, continue with a copy elsewhere: skein sessions export ${rootID} --output tree.json, and there skein sessions import tree.json --as-copy --dir DIR.`

/** Says to the clients of a cluster what a tree waits for, and what to do. */
export const awayText = (rootID: SessionID, { directory, host, isKept, isNamesake }: Elsewhere): string =>
  `The session ${rootID} works in ${directory} on ${
    isNamesake === true ? "another machine with the name" : "the host"
  } ${host}, and no server of this cluster is there. Start one there: skein serve --cluster. ${
    isKept === true
      ? "Its steps are kept in git, so another host can continue it, if `workspace` is \"git\" in the config of the user there; the log of its server says what else is missing. "
      : ""
  }${copyText(rootID, host)}`

/** Says the same to who works outside of a cluster, on the machine `own`; `server` is the URL of a runner on the host of the tree. */
export const awayHereText = (
  rootID: SessionID,
  { directory, host, isKept, isNamesake }: Elsewhere,
  { own, server }: { readonly own: Machine | undefined; readonly server: string | undefined }
): string =>
  `The session ${rootID} works in ${directory} on the host ${host}, and this is ${
    isNamesake === true ? "another machine with that name" : `the host ${own?.host ?? "?"}`
  }, which does not share that directory. ${
    server === undefined
      ? `Continue it on ${host}: skein sessions resume ${rootID}. `
      : `A server is there: continue through it with --attach=${server}, and its token in SKEIN_TOKEN. `
  }${
    isKept === true
      ? "Its steps are kept in git: servers of a cluster, skein serve --cluster, can move it to another host. "
      : ""
  }${copyText(rootID, host)}`

/** Where the directory of a tree is, if no runner is there. */
export interface Away extends Elsewhere {
  readonly _tag: "Away"
}

/** Its directory is here, but not a model with which its unfinished work began: only a runner that has it may continue. */
export interface Unable {
  readonly _tag: "Unable"
  readonly cause: string
}

/** Where a tree may be taken up: by this runner, by the one at an address, or by none that is there. */
export type Place = { readonly _tag: "Here" } | { readonly _tag: "There"; readonly url: string } | Away | Unable

/** For how long trees that wait are kept in the table after they were last seen. */
const kept = "1 hour"

/** Tells the clients of this runner which trees nobody continues and why, and which are continued. */
const makeWaits = Effect.gen(function*() {
  const journal = yield* Journal
  const session = yield* Session
  const clock = yield* Effect.clock
  const sql = yield* SqlClient.SqlClient
  const awaited = new Map<SessionID, Awaited>()
  /** What was stopped, or continues, is listed no longer. */
  const removed = (rootID: SessionID) =>
    Effect.catchAll(
      Effect.asVoid(sql`DELETE FROM cluster_waiting WHERE root_id = ${rootID}`),
      ({ message }) => Effect.logWarning("What a tree no longer waits for is still listed for a minute", message)
    )
  const tell = (rootID: SessionID, status: SessionStatus) =>
    journal.tell({ id: rootID, rootID, depth: 0 }, "session.status", { status }, clock.unsafeCurrentTimeMillis())
  const begin = (rootID: SessionID, status: Awaited) => {
    awaited.set(rootID, status)
    tell(rootID, status)
  }
  const count = (type: Awaited["type"]) =>
    setWaitingTrees(type, [...awaited.values()].filter((each) => each.type === type).length)
  // A prompt may have taken it up here.
  const end = (rootID: SessionID) =>
    Effect.suspend(() =>
      awaited.delete(rootID)
        ? Effect.zipRight(
          removed(rootID),
          Effect.map(session.status(rootID), (status) => tell(rootID, status))
        )
        : Effect.void
    )
  return {
    awaited: (rootID: SessionID) => awaited.get(rootID),
    begin: (rootID: SessionID, { directory, host }: Away) => {
      if (!awaited.has(rootID)) begin(rootID, { type: "away", host, directory })
    },
    // Whether a tree can be continued again is known only after the next try.
    over: (rootID: SessionID) => Effect.suspend(() => awaited.get(rootID)?.type === "away" ? end(rootID) : Effect.void),
    keep: (free: ReadonlySet<SessionID>, stuck: ReadonlyMap<SessionID, string>) =>
      Effect.suspend(() => {
        for (const [rootID, cause] of stuck) {
          const known = awaited.get(rootID)
          if (known === undefined || (known.type === "stuck" && known.cause !== cause)) {
            begin(rootID, { type: "stuck", cause })
          }
        }
        const over = [...awaited].flatMap(([rootID, { type }]) =>
          (type === "away" ? free : stuck).has(rootID) ? [] : [rootID]
        )
        return Effect.zipRight(
          Effect.forEach(over, end, { discard: true }),
          Effect.sync(() => {
            count("away")
            count("stuck")
          })
        )
      })
  }
})

/** Decides whether a tree whose directory is here can continue here: its models have to be set up as well. */
const makeAble = (url: string) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<Projects | SessionStorage>()
    const storage = yield* SessionStorage
    return ({ directory, id }: SessionInfo): Effect.Effect<Place, StorageError> =>
      Effect.gen(function*() {
        if (!(yield* storage.unfinished).includes(id)) return { _tag: "Here" } as const
        // Where its project cannot be opened, taking it up fails and says why.
        const [missing] = yield* Effect.catchTag(
          Projects.use(directory, missingModels(id)),
          "ProjectUnavailable",
          () => Effect.succeed([])
        )
        return missing === undefined
          ? { _tag: "Here" } as const
          : { _tag: "Unable", cause: missingText(missing, `at ${url}`) } as const
      }).pipe(Effect.provide(context))
  })

/** Makes what decides it for the runner at this address. From now on this runner also proves that it sees the directories of the trees that it holds. */
export const makePlaces = (url: string, others: Effect.Effect<ReadonlyArray<Member>>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const told = new Set<SessionID>()
    const projects = yield* Projects

    const isAway = awayFrom(leases.machine, yield* makeProofs)
    const waits = yield* makeWaits
    const able = yield* makeAble(url)
    ;(yield* Whereabouts).decideBy({
      isAway,
      awaited: waits.awaited,
      explain: (root) => Effect.succeed(awayText(root.id, elsewhereOf(root, leases.machine)))
    })

    /** Whether the agent of a tree needs no directory by the config of this host either. */
    const isFree = (info: SessionInfo): Effect.Effect<boolean> =>
      Projects.use(info.directory, needsNoDirectory(info.agent, info)).pipe(
        Effect.provideService(Projects, projects),
        // Where its project cannot be opened the tree waits, and that is said.
        Effect.orElseSucceed(() => false)
      )

    const notes = (rootID: SessionID, away: Away): Effect.Effect<void> =>
      Effect.gen(function*() {
        waits.begin(rootID, away)
        yield* sql`INSERT INTO cluster_waiting (root_id, host, directory, seen)
          VALUES (${rootID}, ${machineKey(away)}, ${away.directory}, clock_timestamp())
          ON CONFLICT (root_id) DO UPDATE SET seen = excluded.seen`
        yield* sql.unsafe(`DELETE FROM cluster_waiting WHERE seen < clock_timestamp() - interval '${kept}'`)
      }).pipe(
        Effect.catchAll(({ message }) => Effect.logWarning("What a tree waits for could not be stored", message))
      )

    return {
      /** Where a tree in which nobody works may be taken up. One that does not say its host is taken up anywhere. */
      of: (rootID: SessionID): Effect.Effect<Place, StorageError> =>
        Effect.gen(function*() {
          const info = Option.getOrUndefined(yield* storage.session(rootID))
          if (info === undefined) return { _tag: "Here" } as const
          if (info.host === undefined || !(yield* isAway(info))) return yield* able(info)
          const near = (yield* others).find(({ owner }) => isBeside(info)(owner))
          if (near !== undefined) return { _tag: "There", url: near.url } as const
          return info.anywhere === true && (yield* isFree(info))
            ? yield* able(info)
            : { _tag: "Away", ...elsewhereOf(info, leases.machine) } as const
        }),
      /** Notes that a tree with unfinished work waits for its host, or to be moved from there. */
      notes,
      /** The same, and logs what to do. */
      waits: (rootID: SessionID, away: Away): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (told.has(rootID)) return notes(rootID, away)
          told.add(rootID)
          return Effect.zipRight(Effect.logWarning(awayText(rootID, away)), notes(rootID, away))
        }),
      /** Notes that a tree no longer waits: it is taken up. */
      over: waits.over,
      /**
       * Notes that only these trees may still wait: nobody works in them, and they have unfinished work. Some of them are stuck,
       * for these causes.
       */
      keep: waits.keep
    }
  })

/** What decides where trees are taken up. */
export type Places = Effect.Effect.Success<ReturnType<typeof makePlaces>>
