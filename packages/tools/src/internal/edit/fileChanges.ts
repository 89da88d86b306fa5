/**
 * Changes files: checks them first, writes the new ones next to them, moves those into place, and rolls back on a
 * failure.
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import { failpoint } from "@skein/core/Failpoints"
import type { StorageError } from "@skein/core/StorageError"
import type { ToolContext, ToolError } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { Target } from "../../Paths.ts"
import { maximumFile } from "../../ReadTool.ts"
import type { SeenFiles } from "../../SeenFiles.ts"
import { holdPath } from "../files/heldPath.ts"
import { wholeFile } from "../files/wholeFile.ts"
import { cannot, isMissing, refusal, refuse } from "../refusal.ts"

/** A file before a change. */
interface Existing {
  readonly bytes: Uint8Array
  readonly mode: number
}

/** A change of one file: `after` is the new contents, or `undefined` to remove the file. */
export interface Change {
  readonly target: Target
  readonly before: Existing | undefined
  readonly after: Uint8Array | undefined
  /** The mode of a new file. An existing one keeps its mode. */
  readonly mode?: number
}

/** A change, with a path of its file that stays valid if directories are moved. */
interface Held extends Change {
  readonly path: string
}

/** The call that a change belongs to. */
type Call = Pick<ToolContext, "sessionID" | "partID" | "confirm">

/** The process lost the tree while the call was made: what is to be done about its files is up to the next holder. */
const lost = "lost"

const notHeld = ({ message }: StorageError) => refusal(lost, message)

/** The prefix of temporary files that a call writes next to its files. */
const temporaryOf = ({ partID }: Call): string => `.skein-${partID}-`

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/"

/** The current file; `undefined` if there is none. */
const existing = Effect.fnUntraced(function*(target: Target) {
  const found = yield* holdPath(target.real, { make: false }).pipe(
    Effect.flatMap((path) => wholeFile(target.real, maximumFile, path)),
    Effect.asSome,
    Effect.catchAll((error) => isMissing(error) ? Effect.succeedNone : Effect.fail(cannot("read", target.shown)(error)))
  )
  if (Option.isNone(found)) return undefined
  switch (found.value.type) {
    case "file":
      return found.value satisfies Existing
    case "large":
      return yield* refuse(
        "too_large",
        `${target.shown} has ${found.value.size} bytes, and ${maximumFile} is the most that can be changed here. Use bash.`
      )
    default: {
      const what = found.value.type === "directory" ? "directory" : found.value.what
      return yield* refuse("not_a_file", `${target.shown} is a ${what}, and only files can be changed.`)
    }
  }
}, Effect.scoped)

/** Refuses to overwrite what the session has not seen. */
const requireSeen = (
  seen: typeof SeenFiles.Service,
  session: SessionID,
  target: Target,
  bytes: Uint8Array,
  options: { readonly orUnseen?: boolean } = {}
) => {
  switch (seen.compare(session, target.real, bytes)) {
    case "same":
      return Effect.void
    case "changed":
      return refuse(
        "stale",
        `${target.shown} has changed since this session read it. Read it again, then repeat the change.`
      )
    case "unseen":
      return options.orUnseen === true
        ? Effect.void
        : refuse("unread", `${target.shown} exists and was not read in this session. Read it first, then change it.`)
  }
}

const discard = (fs: FileSystem.FileSystem, temporary: string) =>
  fs.remove(temporary, { force: true }).pipe(
    Effect.catchAll((error) => Effect.logWarning(`A temporary file is left over: ${temporary}`, error))
  )

/** Writes the new contents to a temporary file next to the file. */
const stage = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  call: Call,
  path: string,
  bytes: Uint8Array,
  mode: number | undefined
) {
  const number = (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
  const temporary = `${parentOf(path)}/${temporaryOf(call)}${number}.tmp`
  const write = Effect.scoped(
    Effect.gen(function*() {
      const file = yield* fs.open(temporary, { flag: "wx", ...(mode === undefined ? {} : { mode: mode & 0o777 }) })
      if (bytes.length > 0) yield* file.writeAll(bytes)
      // Opening applied the umask, so set the mode again.
      if (mode !== undefined) yield* fs.chmod(temporary, mode)
      yield* file.sync
    })
  )
  return yield* Effect.as(Effect.onError(write, () => discard(fs, temporary)), temporary)
})

const put = (fs: FileSystem.FileSystem, call: Call, path: string, { bytes, mode }: Existing) =>
  Effect.flatMap(stage(fs, call, path, bytes, mode), (temporary) => fs.rename(temporary, path))

const undo = (fs: FileSystem.FileSystem, call: Call, done: ReadonlyArray<Held>) =>
  Effect.forEach(
    done.toReversed(),
    ({ before, path, target }) =>
      (before === undefined ? fs.remove(path) : put(fs, call, path, before)).pipe(
        Effect.mapError(cannot("put back", target.shown))
      ),
    { discard: true }
  )

const hold = (change: Change) =>
  holdPath(change.target.real, { make: change.after !== undefined }).pipe(
    Effect.map((path): Held => ({ ...change, path })),
    Effect.mapError(cannot(change.after === undefined ? "remove" : "write", change.target.shown))
  )

/** Removes the temporary files of this call after a crash. */
const tidy = (fs: FileSystem.FileSystem, call: Call, targets: ReadonlyArray<Target>) =>
  Effect.forEach(targets, (target) =>
    holdPath(target.real, { make: false }).pipe(
      Effect.map(parentOf),
      Effect.flatMap((directory) =>
        Effect.flatMap(fs.readDirectory(directory), (names) =>
          Effect.forEach(
            names.filter((name) => name.startsWith(temporaryOf(call))),
            (name) => discard(fs, `${directory}/${name}`),
            { discard: true }
          ))
      ),
      Effect.scoped,
      Effect.catchAll((error) =>
        isMissing(error) ? Effect.void : Effect.logWarning(`What a crash left beside ${target.shown} stays`, error)
      )
    ), { discard: true })

/** Makes all changes, or none. */
const apply = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  seen: typeof SeenFiles.Service,
  call: Call,
  changes: ReadonlyArray<Change>
) {
  const held = yield* Effect.forEach(changes, hold)
  const staged: Array<string> = []
  const done: Array<Held> = []
  const stageAll = Effect.forEach(
    held,
    ({ after, before, mode, path, target }) =>
      after === undefined ? Effect.succeed(undefined) : stage(fs, call, path, after, before?.mode ?? mode).pipe(
        Effect.tap((temporary) => Effect.sync(() => staged.push(temporary))),
        Effect.mapError(cannot("write", target.shown))
      )
  )
  const confirm = Effect.mapError(call.confirm, notHeld)
  const place = (change: Held, temporary: string | undefined) =>
    (temporary === undefined
      ? fs.remove(change.path)
      : fs.rename(temporary, change.path)).pipe(
        Effect.mapError(cannot(temporary === undefined ? "remove" : "write", change.target.shown)),
        Effect.tap(() => Effect.sync(() => done.push(change))),
        (placed) => Effect.zipRight(confirm, placed),
        (placed) => temporary === undefined ? placed : Effect.zipRight(failpoint("write_tmp_before_rename"), placed)
      )
  const placeAll = (temporaries: ReadonlyArray<string | undefined>): Effect.Effect<void, ToolError> =>
    Effect.forEach(held, (change, index) => place(change, temporaries[index]), { discard: true }).pipe(
      Effect.catchAll((error) =>
        error.kind === lost ? Effect.fail(error) : Effect.zipRight(undo(fs, call, done), Effect.fail(error))
      ),
      Effect.uninterruptible
    )
  yield* Effect.flatMap(stageAll, placeAll).pipe(
    Effect.onExit((exit) =>
      Exit.isSuccess(exit) ? Effect.void : Effect.forEach(staged, (each) => discard(fs, each), { discard: true })
    )
  )
  for (const { after, target } of changes) {
    if (after === undefined) seen.forget(call.sessionID, target.real)
    else seen.note(call.sessionID, target.real, after)
  }
}, Effect.scoped)

/** The operations on files. */
export const makeFileChanges = (fs: FileSystem.FileSystem, seen: typeof SeenFiles.Service) => ({
  existing,
  requireSeen: (
    session: SessionID,
    target: Target,
    bytes: Uint8Array,
    options: { readonly orUnseen?: boolean } = {}
  ) => requireSeen(seen, session, target, bytes, options),
  apply: (call: Call, changes: ReadonlyArray<Change>) => apply(fs, seen, call, changes),
  tidy: (call: Call, targets: ReadonlyArray<Target>) => tidy(fs, call, targets)
})
