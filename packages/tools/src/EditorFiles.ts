/** Owns what the editors of sessions have of files: texts that are not saved yet. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

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
