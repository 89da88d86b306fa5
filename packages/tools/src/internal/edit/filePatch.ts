/** The contents of a patch: which files it adds, changes, moves and removes. */
import type { ToolError } from "@skein/core/Tool"
import { refusal } from "../refusal.ts"

/** A line of a hunk: kept, removed or added. */
export interface HunkLine {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** Lines that change together. */
export interface Hunk {
  readonly lines: ReadonlyArray<HunkLine>
  /** The first line in the old file, counted from 1, if the patch says so. */
  readonly at?: number
  /** Lines that appear somewhere before it, in this order. */
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

/** A patch that cannot be parsed. */
export const malformed = (line: number, message: string): ToolError =>
  refusal("malformed_patch", `The patch cannot be read at its line ${line}: ${message}`)
