/** Owns what the editors of sessions have of files: texts that are not saved yet. */
import type { ToolCaller } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { join } from "node:path"
import { imageType, isBinary } from "./FileKind.ts"
import type { Target } from "./Paths.ts"

/** Why an editor did not do what it was asked. */
export interface EditorFailure {
  readonly _tag: "EditorFailure"
  /** It refused or does not know the file, it did not answer in time, or it is gone. */
  readonly reason: "refused" | "silent" | "gone"
  readonly message: string
}

/** The files of one editor. Paths are absolute. Every operation ends within a bounded time. */
export interface EditorOf {
  /** The directory that it works in. It is asked about no file elsewhere. */
  readonly directory: string
  /** The text of a file as the editor has it, saved or not. */
  readonly read: (path: string) => Effect.Effect<string, EditorFailure>
  /** Replaces the text of a file, and saves it. Absent if the editor cannot do that. */
  readonly write: ((path: string, text: string) => Effect.Effect<void, EditorFailure>) | undefined
}

/** The editors, by the roots of the sessions that they have opened; none in other programs. */
export class EditorFiles extends Context.Reference<EditorFiles>()("@skein/tools/EditorFiles", {
  defaultValue: (): ReadonlyMap<SessionID, EditorOf> => new Map()
}) {}

/** A text that is in an editor and not on the disk. */
export interface Unsaved {
  readonly bytes: Buffer
  readonly editor: EditorOf
  /** The name that the editor knows the file by. */
  readonly path: string
}

/** The caller, as far as its editor is found by it. */
export type EditorCaller = Pick<ToolCaller, "rootID" | "directory">

/** Texts that an editor does not tell apart: it keeps the mark at the beginning and the ends of lines beside the text. */
const plain = (text: string): string => text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n")

/** Whether two texts are the same to an editor. */
export const isSameText = (one: Uint8Array, other: Uint8Array): boolean =>
  plain(Buffer.from(one).toString("utf8")) === plain(Buffer.from(other).toString("utf8"))

/** The name that an editor knows a file by; undefined for files outside its directory. */
const nameIn = (editor: EditorOf, { place, real, shown }: Target, { directory }: EditorCaller): string | undefined => {
  if (place !== "inside") return undefined
  if (directory === editor.directory) return join(directory, shown)
  return real.startsWith(`${editor.directory}/`) ? real : undefined
}

/** Bytes that an editor cannot have as a text. */
const isNoText = (bytes: Uint8Array): boolean => imageType(bytes) !== undefined || isBinary(bytes) || !isUtf8(bytes)

/**
 * The unsaved text of a file; undefined if there is none. An editor that refuses does not have the file. Only one that does
 * not answer fails: then Skein cannot tell. `disk` is what the disk has, if anything.
 */
const unsavedOf = (
  editors: typeof EditorFiles.Service,
  target: Target,
  caller: EditorCaller,
  disk: Uint8Array | undefined
): Effect.Effect<Unsaved | undefined, EditorFailure> => {
  const editor = editors.get(caller.rootID)
  const path = editor === undefined ? undefined : nameIn(editor, target, caller)
  if (editor === undefined || path === undefined || (disk !== undefined && isNoText(disk))) {
    return Effect.succeed(undefined)
  }
  return editor.read(path).pipe(
    Effect.map((text) => {
      const bytes = Buffer.from(text)
      // An editor may have an empty text for a file that does not exist.
      const isSame = disk === undefined ? text === "" : isSameText(bytes, disk)
      return isSame || isNoText(bytes) ? undefined : { bytes, editor, path }
    }),
    Effect.catchIf(({ reason }) => reason !== "silent", () => Effect.succeed(undefined))
  )
}

/** Finds unsaved texts. */
export const unsaved: Effect.Effect<
  (
    target: Target,
    caller: EditorCaller,
    disk: Uint8Array | undefined
  ) => Effect.Effect<Unsaved | undefined, EditorFailure>
> = Effect.map(EditorFiles, (editors) => (target, caller, disk) => unsavedOf(editors, target, caller, disk))
