/**
 * Owns what sandboxes leave on the disk while they need it, with records for every Skein of this user: placeholders for
 * missing files, because a file that does not exist cannot be mounted over, and the directories that commands see as
 * /tmp and home. Removes what dead Skeins left.
 */
import type { Owner } from "@skein/core/Owner"
import type { UnknownException } from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { attempt, namesIn } from "./disk.ts"
import { recordsIn } from "./secretFiles.ts"

/** The kind of placeholder. `temporary` is a directory with any contents that nobody needs any longer. */
type Kind = "directory" | "file" | "temporary"

/** What a process needs. */
interface Placeholder {
  readonly path: string
  readonly kind: Kind
  /** Its identity; undefined while it may not exist yet. */
  readonly inode: string | undefined
}

/** What one command, or one process, needs. */
interface PlaceholderRecord {
  readonly file: string
  readonly owner: string
  /** When it was written, in milliseconds. */
  readonly time: number
  readonly placeholders: ReadonlyArray<Placeholder>
}

/** The prefix of directories for temporary files. */
const temporaryPrefix = "skein-tmp-"

const lockName = "lock"

/** The placeholder at a path, and its identity. */
const lookAt = (path: string): { readonly kind: Kind | "other"; readonly inode: string } | undefined => {
  const stat = attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false }), undefined)
  if (stat === undefined) return undefined
  const kind = stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other"
  return { kind, inode: `${stat.dev}:${stat.ino}:${stat.birthtimeMs}` }
}

/** Whether it is still empty. */
const isEmpty = (path: string, kind: Kind): boolean =>
  attempt(
    () => kind === "directory" ? NodeFs.readdirSync(path).length === 0 : NodeFs.lstatSync(path).size === 0,
    false
  )

/** Two lines, each written at once: what will be created, and the identities of what was created. */
const parse = (file: string, text: string, time: number): PlaceholderRecord | undefined =>
  attempt(() => {
    const [first = "", second = ""] = text.split("\n")
    const { owner, wanted }: { owner: string; wanted: ReadonlyArray<[string, Kind]> } = JSON.parse(first)
    const inodes: ReadonlyArray<string | null> = attempt(() => JSON.parse(second), [])
    const placeholders = wanted.map(([path, kind], index) => ({ path, kind, inode: inodes[index] ?? undefined }))
    return { file, owner, time, placeholders }
  }, undefined)

/** Reads records of this user. In a directory for temporary files, anybody may have written others. */
const read = (file: string): PlaceholderRecord | undefined =>
  attempt(() => {
    const stat = NodeFs.lstatSync(file)
    const isOurs = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    return isOurs ? parse(file, NodeFs.readFileSync(file, "utf8"), stat.mtimeMs) : undefined
  }, undefined)

/** All current records. */
const readRecords = (directory: string): ReadonlyArray<PlaceholderRecord> =>
  namesIn(directory)
    .filter((name) => /^[a-z0-9]+$/.test(name) && name !== lockName)
    .flatMap((name) => read(join(directory, name)) ?? [])

/** Records what will be created, beforehand. */
export const writeRecord = (
  file: string,
  owner: string,
  wanted: ReadonlyArray<readonly [path: string, kind: Kind]>
): void => NodeFs.writeFileSync(file, `${JSON.stringify({ owner, wanted })}\n`, { flag: "wx", mode: 0o600 })

/** Records the identities of what was created. */
const completeRecord = (file: string, inodes: ReadonlyArray<string | null>): void =>
  NodeFs.appendFileSync(file, `${JSON.stringify(inodes)}\n`)

/**
 * How often to try for the lock, and how long to wait in between: two seconds in all. The lock is only ever held for a
 * moment.
 */
const patience = { tries: 400, pause: "5 millis" } as const

const takeLock = (lock: string, owner: string): boolean =>
  // A link appears with all its contents, or not at all.
  attempt(() => {
    NodeFs.symlinkSync(owner, lock)
    return true
  }, false)

/** A dead owner of the lock is ignored. A process that took it since then gets it back. */
const takeFrom = (lock: string, holder: string, by: string): void =>
  attempt(() => {
    const aside = `${lock}.${by.replaceAll(/[^\w]/g, "-")}`
    NodeFs.renameSync(lock, aside)
    if (NodeFs.readlinkSync(aside) === holder) NodeFs.unlinkSync(aside)
    else NodeFs.renameSync(aside, lock)
  }, undefined)

/** Runs something while no other Skein does so in this directory. */
const locked = <A>(
  directory: string,
  owner: typeof Owner.Service,
  body: () => A
): Effect.Effect<A, UnknownException> =>
  Effect.gen(function*() {
    const lock = join(directory, lockName)
    for (let time = 0; time < patience.tries && !takeLock(lock, owner.id); time++) {
      const holder = attempt(() => NodeFs.readlinkSync(lock), "")
      if (holder !== "" && (yield* owner.isGone(holder))) takeFrom(lock, holder, owner.id)
      else yield* Effect.sleep(patience.pause)
    }
    return yield* Effect.ensuring(
      Effect.try(body),
      Effect.sync(() => attempt(() => NodeFs.readlinkSync(lock) === owner.id && NodeFs.unlinkSync(lock), undefined))
    )
  }).pipe(Effect.uninterruptible)

/** Something that does not exist. */
export type PlannedPlaceholder = readonly [path: string, kind: Exclude<Kind, "temporary">]

const make = ([path, kind]: PlannedPlaceholder): boolean =>
  attempt(() => {
    if (kind === "directory") NodeFs.mkdirSync(path)
    else NodeFs.closeSync(NodeFs.openSync(path, "wx"))
    return true
  }, false)

/** Removes placeholders that no process needs. If one has contents by now, it belongs to somebody, and stays. */
const removePlaceholder = ({ inode, kind, path }: Placeholder): void => {
  const found = lookAt(path)
  if (found?.kind !== kind || found.inode !== inode || !isEmpty(path, kind)) return
  attempt(() => kind === "directory" ? NodeFs.rmdirSync(path) : NodeFs.unlinkSync(path), undefined)
}

const isOf = (path: string, inode: string) => (each: Placeholder): boolean => each.path === path && each.inode === inode

/** A unique name for a record. */
const recordName = Effect.map(
  Effect.all([Random.nextIntBetween(0, 2 ** 48), Random.nextIntBetween(0, 2 ** 48)]),
  (numbers) => numbers.map((number) => number.toString(36)).join("")
)

/** Owns the placeholders. The directory of its records must exist. */
export const makePlaceholders = Effect.fnUntraced(function*(directory: string, owner: typeof Owner.Service) {
  // Fibers of one process wait for each other without polling.
  const turns = yield* Effect.makeSemaphore(1)
  const alone = <A>(body: () => A) => turns.withPermits(1)(locked(directory, owner, body))

  const take = (file: string, planned: ReadonlyArray<PlannedPlaceholder>) => () => {
    const others = readRecords(directory).flatMap(({ placeholders }) => placeholders)
    writeRecord(file, owner.id, planned)
    const inodes = planned.map((each) => {
      const [path] = each
      const isMade = make(each)
      const found = lookAt(path)
      // A file that exists and is not a placeholder was created meanwhile by somebody else.
      return found !== undefined && (isMade || others.some(isOf(path, found.inode))) ? found.inode : null
    })
    completeRecord(file, inodes)
    return planned.filter((_, index) => inodes[index] !== null)
  }

  const release = (file: string) => () => {
    const records = readRecords(directory)
    const others = records.filter((each) => each.file !== file).flatMap(({ placeholders }) => placeholders)
    const own = records.find((each) => each.file === file)?.placeholders ?? []
    for (const each of own) {
      if (each.inode !== undefined && !others.some(({ path }) => path === each.path)) removePlaceholder(each)
    }
    NodeFs.rmSync(file, { force: true })
  }

  return {
    /** Decides whether something is only a placeholder. */
    known: (): (path: string) => boolean => {
      const all = readRecords(directory).flatMap(({ placeholders }) => placeholders)
      return (path) => {
        const found = all.length === 0 ? undefined : lookAt(path)
        const known = found === undefined ? undefined : all.find(isOf(path, found.inode))
        return known !== undefined && isEmpty(path, known.kind)
      }
    },
    /** Creates them; returns those that exist. Some may be missing if a directory cannot be written. */
    hold: (
      planned: ReadonlyArray<PlannedPlaceholder>
    ): Effect.Effect<ReadonlyArray<PlannedPlaceholder>, UnknownException, Scope.Scope> =>
      planned.length === 0 ? Effect.succeed([]) : Effect.flatMap(recordName, (name) => {
        const file = join(directory, name)
        return Effect.acquireRelease(
          alone(take(file, planned)),
          () =>
            Effect.catchAll(
              alone(release(file)),
              ({ cause }) => Effect.logWarning(`${file} could not be removed`, cause)
            )
        )
      })
  }
})

/**
 * How long to keep a record if it is unknown whether its Skein still runs, for example on another machine: a day, in
 * milliseconds.
 */
const longest = 86_400_000

/**
 * After a crash before the identity was recorded: what was created this close to the record's time, in milliseconds.
 */
const moment = 2_000

/** Its identity if known, or else a match by its creation time. */
const identified = (each: Placeholder, time: number): Placeholder => {
  const inode = each.inode ?? lookAt(each.path)?.inode
  const made = Number(inode?.split(":").at(-1))
  return each.inode !== undefined || Math.abs(made - time) < moment ? { ...each, inode } : each
}

const removeTemporary = (path: string): Effect.Effect<void> =>
  basename(path).startsWith(temporaryPrefix) && lookAt(path)?.kind === "directory"
    ? Effect.catchAll(
      Effect.tryPromise(() => NodeFs.promises.rm(path, { recursive: true, force: true })),
      ({ cause }) => Effect.logWarning(`${path} could not be removed`, cause)
    )
    : Effect.void

/** Checks the records of a directory. */
export const reapPlaceholders = Effect.fnUntraced(function*(directory: string, owner: typeof Owner.Service) {
  const now = yield* Clock.currentTimeMillis
  // No command runs for a day, but a Skein may, and needs its directory.
  const isOld = ({ placeholders, time }: PlaceholderRecord) =>
    now - time > longest && placeholders.every(({ kind, path }) => kind !== "temporary" || lookAt(path) === undefined)
  const dead: Array<PlaceholderRecord> = []
  for (const record of readRecords(directory)) {
    if (isOld(record) || (yield* owner.isGone(record.owner))) dead.push(record)
  }
  if (dead.length === 0) return
  for (const { path } of dead.flatMap(({ placeholders }) => placeholders.filter(({ kind }) => kind === "temporary"))) {
    yield* removeTemporary(path)
  }
  const remove = () => {
    const files = new Set(dead.map(({ file }) => file))
    const needed = readRecords(directory).flatMap(({ file, placeholders }) => files.has(file) ? [] : placeholders)
    for (const { file, placeholders, time } of dead) {
      for (const each of placeholders) {
        if (each.kind !== "temporary" && !needed.some(({ path }) => path === each.path)) {
          removePlaceholder(identified(each, time))
        }
      }
      NodeFs.rmSync(file, { force: true })
    }
  }
  yield* Effect.catchAll(
    locked(directory, owner, remove),
    ({ cause }) => Effect.logWarning(`${directory} could not be changed`, cause)
  )
})

/** The directories, absolute and real. */
interface BwrapPlace {
  /** What commands see as /tmp. */
  readonly temporary: string
  /** What they see as the home. */
  readonly home: string
  /** What they do not see. */
  readonly beside: string
  /** Where records of placeholders are kept. */
  readonly records: string
}

const makeWritable = (directory: string): boolean =>
  attempt(() => {
    NodeFs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    NodeFs.accessSync(directory, NodeFs.constants.W_OK)
    return true
  }, false)

/** Makes it, until the scope closes. After a crash, its record finds what is left, if a record could be written. */
export const makeBwrapPlace = Effect.fnUntraced(function*(
  options: Parameters<typeof recordsIn>[0],
  owner: typeof Owner.Service
) {
  const name = yield* recordName
  const shared = recordsIn(options)
  const isShared = makeWritable(shared)
  const record = join(shared, name)
  const made = yield* Effect.acquireRelease(
    Effect.try(() => {
      const top = join(NodeFs.realpathSync(tmpdir()), `${temporaryPrefix}${name}`)
      if (isShared) writeRecord(record, owner.id, [[top, "temporary"]])
      NodeFs.mkdirSync(top, { mode: 0o700 })
      const place: BwrapPlace = {
        temporary: join(top, "tmp"),
        home: join(top, "home"),
        beside: join(top, "beside"),
        records: isShared ? shared : join(top, "records")
      }
      for (const directory of [place.temporary, place.home, place.beside, place.records]) makeWritable(directory)
      return { place, top }
    }),
    ({ top }) =>
      Effect.promise(async () => {
        await NodeFs.promises.rm(top, { recursive: true, force: true })
        await NodeFs.promises.rm(record, { force: true })
      })
  )
  return made.place
})
