/** Keeps records of what stands in the place of something else, for every Skein of this user: who made it, and who needs it. */
import type { Owner } from "@skein/core/Owner"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"

/** What stands there. `temporary` is a directory with anything in it that nobody needs any more. */
export type Kind = "directory" | "file" | "temporary"

/** What somebody needs. */
export interface Placeholder {
  readonly path: string
  readonly kind: Kind
  /** Which one it is; undefined as long as it may not be there yet. */
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

/** Where the records of a data directory are. */
export const recordsIn = (dataDirectory: string): string => join(dataDirectory, "placeholders")

/** How the names of directories for temporary files begin. */
export const temporaryPrefix = "skein-tmp-"

const lockName = "lock"

/** What stands in a place, and which one it is. */
export const lookAt = (path: string): { readonly kind: Kind | "other"; readonly inode: string } | undefined => {
  const stat = attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false }), undefined)
  if (stat === undefined) return undefined
  const kind = stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other"
  return { kind, inode: `${stat.dev}:${stat.ino}:${stat.birthtimeMs}` }
}

/** Whether nothing has come into it. */
export const isEmpty = (path: string, kind: Kind): boolean =>
  attempt(
    () => kind === "directory" ? NodeFs.readdirSync(path).length === 0 : NodeFs.lstatSync(path).size === 0,
    false
  )

/** Two lines, each written at once: what is going to be made, and which ones these became. */
const parse = (file: string, text: string, time: number): PlaceholderRecord | undefined =>
  attempt(() => {
    const [first = "", second = ""] = text.split("\n")
    const { owner, wanted }: { owner: string; wanted: ReadonlyArray<[string, Kind]> } = JSON.parse(first)
    const inodes: ReadonlyArray<string | null> = attempt(() => JSON.parse(second), [])
    const placeholders = wanted.map(([path, kind], index) => ({ path, kind, inode: inodes[index] ?? undefined }))
    return { file, owner, time, placeholders }
  }, undefined)

/** Reads what this user has written; anybody may write into a directory for temporary files. */
const read = (file: string): PlaceholderRecord | undefined =>
  attempt(() => {
    const stat = NodeFs.lstatSync(file)
    const isOurs = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    return isOurs ? parse(file, NodeFs.readFileSync(file, "utf8"), stat.mtimeMs) : undefined
  }, undefined)

/** All of them, as they are at the moment. */
export const readRecords = (directory: string): ReadonlyArray<PlaceholderRecord> =>
  attempt(() => NodeFs.readdirSync(directory), [])
    .filter((name) => /^[a-z0-9]+$/.test(name) && name !== lockName)
    .flatMap((name) => read(join(directory, name)) ?? [])

/** Says what is going to be made, before it is. */
export const writeRecord = (
  file: string,
  owner: string,
  wanted: ReadonlyArray<readonly [path: string, kind: Kind]>
): void => NodeFs.writeFileSync(file, `${JSON.stringify({ owner, wanted })}\n`, { flag: "wx", mode: 0o600 })

/** Says which ones they became. */
export const completeRecord = (file: string, inodes: ReadonlyArray<string | null>): void =>
  NodeFs.appendFileSync(file, `${JSON.stringify(inodes)}\n`)

/** How often the lock is tried for, and how long is waited in between: in all two seconds. Nobody holds it for longer than a moment. */
const patience = { tries: 400, pause: "5 millis" } as const

const take = (lock: string, owner: string): boolean =>
  // A link is there with all that it says, or not at all.
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

/** Runs something that no other Skein does meanwhile in this directory. */
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
