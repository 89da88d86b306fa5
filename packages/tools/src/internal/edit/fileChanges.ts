/**
 * Changes files: checks them first, writes the new ones next to them, moves those into place, and rolls back on a
 * failure. A file that has unsaved text is changed through its editor, which saves it. What was typed meanwhile is never
 * overwritten.
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
import {
  type EditorCaller,
  type EditorFailure,
  isSameText,
  type Unsaved,
  unsaved as findUnsaved
} from "../../EditorFiles.ts"
import type { Target } from "../../Paths.ts"
import { maximumFile } from "../../ReadTool.ts"
import type { SeenFiles } from "../../SeenFiles.ts"
import { holdPath, wholeFile } from "../files/wholeFile.ts"
import { cannot, isMissing, refusal, refuse } from "../refusal.ts"

/** Nobody knows whether an editor has unsaved text. */
const silent = ({ shown }: Target) => ({ message }: EditorFailure): ToolError =>
  refusal(
    "editor",
    `${message} So Skein cannot tell whether ${shown} has unsaved changes there. Nothing was changed. Try again.`
  )

/** Refuses what cannot be done while text of the file is unsaved. */
const requireWritable = (target: Target, { editor }: Unsaved, after: Uint8Array | undefined) => {
  const unsaved = `${target.shown} has changes in the editor that are not saved.`
  if (after === undefined) {
    return refuse("unsaved", `${unsaved} Nothing was moved or removed. Ask the user to save or discard them first.`)
  }
  return editor.write === undefined
    ? refuse("unsaved", `${unsaved} This editor lets nobody else write. Ask the user to save the file, then repeat.`)
    : Effect.void
}

/** The text that the editor has now; fails if it cannot tell. */
const now = (target: Target, { editor, path }: Unsaved, done: string) =>
  Effect.mapBoth(editor.read(path), {
    onFailure: ({ message }) => refusal("editor", `${message} ${done} Read ${target.shown} before you go on.`),
    onSuccess: (text) => Buffer.from(text)
  })

/**
 * Writes. The protocol has no write on a condition, so the text is compared right before. Gives the text that the editor has
 * after that: it may have been formatted.
 */
const writeThrough = (
  target: Target,
  unsaved: Unsaved,
  after: Uint8Array
): Effect.Effect<Uint8Array, ToolError> =>
  Effect.gen(function*() {
    const { bytes, editor: { write }, path } = unsaved
    if (write === undefined) return yield* requireWritable(target, { ...unsaved }, after).pipe(Effect.as(bytes))
    const before = yield* now(target, unsaved, "Nothing was changed.")
    if (!isSameText(before, bytes)) {
      return yield* refuse(
        "stale",
        `${target.shown} was changed in the editor just now. Nothing was changed. Read it again, then repeat the change.`
      )
    }
    yield* Effect.mapError(write(path, Buffer.from(after).toString("utf8")), ({ message, reason }) =>
      refusal(
        "editor",
        `${message} ${
          reason === "refused"
            ? `So ${target.shown} was not written.`
            : `So Skein cannot tell whether ${target.shown} was written.`
        } Read it before you go on.`
      ))
    const written = yield* now(target, unsaved, "It has said before that the file is written.")
    if (!isSameText(after, bytes) && isSameText(written, bytes)) {
      return yield* refuse(
        "editor",
        `The editor said that it wrote ${target.shown}, and still shows the old text. Tell the user.`
      )
    }
    return written
  })

/** A file before a change. */
interface Existing {
  readonly bytes: Uint8Array
  readonly mode: number
  /** Set if these bytes are in an editor, and the disk does not have them. */
  readonly unsaved?: Unsaved
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
type Call = Pick<ToolContext, "sessionID" | "partID" | "confirm" | "rootID" | "directory">

/** The process lost the tree while the call was made: what is to be done about its files is up to the next holder. */
const lost = "lost"

const notHeld = ({ message }: StorageError) => refusal(lost, message)

/** What finds unsaved texts. */
type Find = Effect.Effect.Success<typeof findUnsaved>

/** The prefix of temporary files that a call writes next to its files. */
const temporaryOf = ({ partID }: Call): string => `.skein-${partID}-`

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/"

/** The file on the disk; `undefined` if there is none. */
const onDisk = Effect.fnUntraced(function*(target: Target) {
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

/** The mode of a file that only an editor has so far. */
const usualMode = 0o644

/** The current file, with what its editor has not saved; `undefined` if there is none. */
const existing = (find: Find, call: EditorCaller, target: Target): Effect.Effect<Existing | undefined, ToolError> =>
  Effect.flatMap(onDisk(target), (disk) =>
    find(target, call, disk?.bytes).pipe(
      Effect.mapError(silent(target)),
      Effect.filterOrElse(
        (found) => found === undefined || found.bytes.length <= maximumFile,
        () =>
          refuse("too_large", `${target.shown} is longer in the editor than ${maximumFile} bytes, which is the most.`)
      ),
      Effect.map((found) =>
        found === undefined ? disk : { bytes: found.bytes, mode: disk?.mode ?? usualMode, unsaved: found }
      )
    ))

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

/** A change of a file that has unsaved text. */
interface Unstaged {
  readonly target: Target
  readonly unsaved: Unsaved
  readonly after: Uint8Array
}

/** Records what the session has seen of a file that its editor wrote, and gives what the model has to know. */
const settle = Effect.fnUntraced(function*(
  seen: typeof SeenFiles.Service,
  { sessionID }: Call,
  { after, target }: Unstaged,
  written: Uint8Array
) {
  const { shown } = target
  if (!isSameText(after, written)) {
    seen.forget(sessionID, target.real)
    return [`The editor changed the text of ${shown} as it saved it. Read the file before you change it again.`]
  }
  const disk = yield* Effect.orElseSucceed(onDisk(target), () => undefined)
  const isSaved = disk !== undefined && isSameText(disk.bytes, written)
  seen.note(sessionID, target.real, isSaved ? disk.bytes : written)
  return isSaved ? [] : [`${shown} is changed in the editor, and not saved yet: commands still see the saved file.`]
})

/** Writes through editors, one file after the other; puts back what was written if one of them fails. */
const applyUnstaged = (seen: typeof SeenFiles.Service, call: Call, changes: ReadonlyArray<Unstaged>) =>
  Effect.suspend(() => {
    const done: Array<Unstaged> = []
    const putBack = Effect.forEach(
      done,
      ({ target, unsaved: { bytes, editor, path } }) =>
        (editor.write?.(path, Buffer.from(bytes).toString("utf8")) ?? Effect.void).pipe(
          Effect.catchAll(({ message }) => Effect.logWarning(`Could not put back ${target.shown}: ${message}`))
        ),
      { discard: true }
    )
    return Effect.forEach(changes, (change) =>
      Effect.mapError(call.confirm, notHeld).pipe(
        Effect.zipRight(writeThrough(change.target, change.unsaved, change.after)),
        Effect.tap(() => Effect.sync(() => done.push(change))),
        Effect.flatMap((written) => settle(seen, call, change, written))
      )).pipe(
        Effect.map((notes) => notes.flat()),
        Effect.catchAll((error) => Effect.zipRight(Effect.suspend(() => putBack), Effect.fail(error)))
      )
  })

const unstagedIn = Effect.fnUntraced(function*(changes: ReadonlyArray<Change>) {
  const found: Array<Unstaged> = []
  for (const { after, before, target } of changes) {
    if (before?.unsaved === undefined) continue
    yield* requireWritable(target, before.unsaved, after)
    if (after !== undefined) found.push({ target, unsaved: before.unsaved, after })
  }
  return found
})

/** Makes all changes, or none; gives what the model has to know of them. */
const apply = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  seen: typeof SeenFiles.Service,
  call: Call,
  changes: ReadonlyArray<Change>
) {
  const unstaged = yield* unstagedIn(changes)
  const own = changes.filter(({ before }) => before?.unsaved === undefined)
  const held = yield* Effect.forEach(own, hold)
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
  // Editors go last: what Skein wrote itself can be put back for sure.
  const placeAll = (temporaries: ReadonlyArray<string | undefined>): Effect.Effect<ReadonlyArray<string>, ToolError> =>
    Effect.forEach(held, (change, index) => place(change, temporaries[index]), { discard: true }).pipe(
      Effect.zipRight(applyUnstaged(seen, call, unstaged)),
      Effect.catchAll((error) =>
        error.kind === lost ? Effect.fail(error) : Effect.zipRight(undo(fs, call, done), Effect.fail(error))
      ),
      Effect.uninterruptible
    )
  const notes = yield* Effect.flatMap(stageAll, placeAll).pipe(
    Effect.onExit((exit) =>
      Exit.isSuccess(exit) ? Effect.void : Effect.forEach(staged, (each) => discard(fs, each), { discard: true })
    )
  )
  for (const { after, target } of own) {
    if (after === undefined) seen.forget(call.sessionID, target.real)
    else seen.note(call.sessionID, target.real, after)
  }
  return notes
}, Effect.scoped)

/** The operations on files. */
export const makeFileChanges = (fs: FileSystem.FileSystem, seen: typeof SeenFiles.Service) =>
  Effect.map(findUnsaved, (find) => ({
    existing: (call: EditorCaller, target: Target) => existing(find, call, target),
    requireSeen: (
      session: SessionID,
      target: Target,
      bytes: Uint8Array,
      options: { readonly orUnseen?: boolean } = {}
    ) => requireSeen(seen, session, target, bytes, options),
    apply: (call: Call, changes: ReadonlyArray<Change>) => apply(fs, seen, call, changes),
    tidy: (call: Call, targets: ReadonlyArray<Target>) => tidy(fs, call, targets)
  }))
