/**
 * Creates placeholders for missing files while a process needs them, because a file that does not exist cannot be
 * mounted over.
 */
import type { Owner } from "@skein/core/Owner"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"
import {
  completeRecord,
  isEmpty,
  type Kind,
  locked,
  lookAt,
  type Placeholder,
  readRecords,
  writeRecord
} from "./placeholderRecords.ts"

/** Something that does not exist. */
export type PlannedPlaceholder = readonly [path: string, kind: Exclude<Kind, "temporary">]

const make = ([path, kind]: PlannedPlaceholder): boolean =>
  attempt(() => {
    if (kind === "directory") NodeFs.mkdirSync(path)
    else NodeFs.closeSync(NodeFs.openSync(path, "wx"))
    return true
  }, false)

/** Removes placeholders that no process needs. If one has contents by now, it belongs to somebody, and stays. */
export const removePlaceholder = ({ inode, kind, path }: Placeholder): void => {
  const found = lookAt(path)
  if (found?.kind !== kind || found.inode !== inode || !isEmpty(path, kind)) return
  attempt(() => kind === "directory" ? NodeFs.rmdirSync(path) : NodeFs.unlinkSync(path), undefined)
}

const isOf = (path: string, inode: string) => (each: Placeholder): boolean => each.path === path && each.inode === inode

/** A unique name for a record. */
export const recordName = Effect.map(
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
