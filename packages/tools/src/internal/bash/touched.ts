/** What is known of the files of a line while it is checked. */
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import type { Target } from "../../Paths.ts"
import { isOutside } from "../asks.ts"
import type { Places } from "./places.ts"
import type { TreeFiles } from "./treeFiles.ts"
import type { Argument } from "./words.ts"

/** What a line does to files. */
export class Touched {
  readonly changed = new Map<string, Target>()
  readonly outside = new Map<string, Target>()
  readonly read = new Set<string>()
  /** What is read below directories that are searched, and rules do not allow. */
  readonly searched = new Set<string>()
  /** What outside may be changed by who does more than read, and the directories outside that the line goes to. */
  readonly reached = new Set<string>()
  readonly entered = new Set<string>()
  /** Patterns of commands that name what a person is asked for each time. */
  readonly guarded = new Set<string>()
  unclear: string | undefined

  doubt(reason: string): void {
    this.unclear ??= reason
  }

  looked(target: Target): void {
    if (isOutside(target)) this.outside.set(target.real, target)
  }
}

/** Asks for nothing where a path cannot be followed, but leaves the question open what it is. */
export const targetsOf = (places: Places, touched: Touched, path: string) =>
  Effect.catchTag(places.of(path), "ToolError", ({ message }) => {
    touched.doubt(message)
    return Effect.succeed([])
  })

/** What the checks of one line share. */
export interface Looking {
  readonly places: Places
  readonly touched: Touched
  readonly found: (argument: Argument) => Effect.Effect<ReadonlyArray<string>>
  readonly treeFiles: TreeFiles
  readonly reading: (path: string) => Action
  readonly editing: (path: string) => Action
}

/** The texts that a word may stand for: the files that fit it, where it is a pattern. */
export const textsOf = ({ found }: Looking, text: string, word: Argument | undefined) =>
  word?.glob === undefined ? Effect.succeed([text]) : Effect.map(found(word), (paths) => [text, ...paths])
