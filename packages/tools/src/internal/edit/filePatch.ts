/** What a patch says: which files it adds, changes, moves and removes. */
import type { ToolError } from "@skein/core/Tool"
import { refusal } from "../refusal.ts"

/** A line of a hunk: it stays, goes, or comes. */
export interface HunkLine {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** Lines that change together. */
export interface Hunk {
  readonly lines: ReadonlyArray<HunkLine>
  /** The line of the old file where it begins, the first being 1, where the patch says so. */
  readonly at?: number
  /** Lines that come somewhere before it, each after the one before. */
  readonly anchors: ReadonlyArray<string>
  /** Whether it is at the end of the file. */
  readonly atEnd: boolean
  /** Whether the new file ends without a line end. */
  readonly bareEnd: boolean
}

/** What a patch does to one file. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly hunks: ReadonlyArray<Hunk> }
  | { readonly kind: "delete"; readonly path: string; readonly hunks: ReadonlyArray<Hunk> }
  | { readonly kind: "update"; readonly path: string; readonly to?: string; readonly hunks: ReadonlyArray<Hunk> }

/** A patch that cannot be understood. */
export const malformed = (line: number, message: string): ToolError =>
  refusal("malformed_patch", `The patch cannot be read at its line ${line}: ${message}`)
