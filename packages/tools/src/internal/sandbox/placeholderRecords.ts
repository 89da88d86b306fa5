/** Keeps records of placeholders, for every Skein of this user: who made them, and who needs them. */
import type { Owner } from "@skein/core/Owner"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { recordsBeside } from "../knownPlaces.ts"
import { attempt } from "../processes.ts"

/** The kind of placeholder. `temporary` is a directory with any contents that nobody needs any longer. */
export type Kind = "directory" | "file" | "temporary"

/** What a process needs. */
export interface Placeholder {
  readonly path: string
  readonly kind: Kind
  /** Its identity; undefined while it may not exist yet. */
  readonly inode: string | undefined
}

/** What one command, or one process, needs. */
export interface PlaceholderRecord {
  readonly file: string
  readonly owner: string
  /** When it was written, in milliseconds. */
  readonly time: number
  readonly placeholders: ReadonlyArray<Placeholder>
}

/** Where the records of a program are. */
export const recordsIn = (
  { dataDirectory, register }: { readonly dataDirectory: string; readonly register?: string | undefined }
): string => register === undefined ? join(dataDirectory, "placeholders") : recordsBeside(register)

/** The prefix of directories for temporary files. */
export const temporaryPrefix = "skein-tmp-"

const lockName = "lock"

/** The placeholder at a path, and its identity. */
export const lookAt = (path: string): { readonly kind: Kind | "other"; readonly inode: string } | undefined => {
  const stat = attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false }), undefined)
  if (stat === undefined) return undefined
  const kind = stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other"
  return { kind, inode: `${stat.dev}:${stat.ino}:${stat.birthtimeMs}` }
}

/** Whether it is still empty. */
export const isEmpty = (path: string, kind: Kind): boolean =>
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
export const readRecords = (directory: string): ReadonlyArray<PlaceholderRecord> =>
  attempt(() => NodeFs.readdirSync(directory), [])
    .filter((name) => /^[a-z0-9]+$/.test(name) && name !== lockName)
    .flatMap((name) => read(join(directory, name)) ?? [])

/** Records what will be created, beforehand. */
export const writeRecord = (
  file: string,
  owner: string,
  wanted: ReadonlyArray<readonly [path: string, kind: Kind]>
): void => NodeFs.writeFileSync(file, `${JSON.stringify({ owner, wanted })}\n`, { flag: "wx", mode: 0o600 })

/** Records the identities of what was created. */
export const completeRecord = (file: string, inodes: ReadonlyArray<string | null>): void =>
  NodeFs.appendFileSync(file, `${JSON.stringify(inodes)}\n`)

/**
 * How often to try for the lock, and how long to wait in between: two seconds in all. The lock is only ever held for a
 * moment.
 */
const patience = { tries: 400, pause: "5 millis" } as const

const take = (lock: string, owner: string): boolean =>
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
export const locked = <A>(
  directory: string,
  owner: typeof Owner.Service,
  body: () => A
): Effect.Effect<A, UnknownException> =>
  Effect.gen(function*() {
    const lock = join(directory, lockName)
    for (let time = 0; time < patience.tries && !take(lock, owner.id); time++) {
      const holder = attempt(() => NodeFs.readlinkSync(lock), "")
      if (holder !== "" && (yield* owner.isGone(holder))) takeFrom(lock, holder, owner.id)
      else yield* Effect.sleep(patience.pause)
    }
    return yield* Effect.ensuring(
      Effect.try(body),
      Effect.sync(() => attempt(() => NodeFs.readlinkSync(lock) === owner.id && NodeFs.unlinkSync(lock), undefined))
    )
  }).pipe(Effect.uninterruptible)
