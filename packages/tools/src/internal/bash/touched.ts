/** What is known about the files of a line while it is checked. */
import type { ToolError } from "@skein/core/Tool"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import type { Target } from "../../Paths.ts"
import { isOutside } from "../asks.ts"
import { isMistake } from "../refusal.ts"
import type { Places } from "./places.ts"
import type { TreeFiles } from "./treeFiles.ts"
import type { Argument } from "./words.ts"

/** What a line does to files. */
export class Touched {
  readonly changed = new Map<string, Target>()
  readonly outside = new Map<string, Target>()
  readonly read = new Set<string>()
  /** Files in searched directories that rules do not allow to be read. */
  readonly searched = new Set<string>()
  /**
   * Paths outside that programs may change because they do more than read, and directories outside that the line
   * changes to.
   */
  readonly reached = new Set<string>()
  readonly entered = new Set<string>()
  /** Patterns of commands for which a person is asked each time. */
  readonly guarded = new Set<string>()
  /** The user's config, files with credentials, and directories that contain files of Skein's own and are searched. */
  readonly personal = new Map<string, Target>()
  readonly credentials = new Map<string, Target>()
  readonly holding = new Map<string, Target>()
  unclear: string | undefined

  doubt(reason: string): void {
    this.unclear ??= reason
  }

  looked(target: Target): void {
    if (isOutside(target)) this.outside.set(target.real, target)
    if (target.credential === true) this.credentials.set(target.real, target)
    else if (target.personal === true) this.personal.set(target.real, target)
  }

  searches(places: Places, target: Target): void {
    this.looked(target)
    if (places.holds(target)) this.holding.set(target.real, target)
  }
}

/** Adds no question for a path that cannot be resolved, but marks the call as unclear. */
export const targetsOf = (places: Places, touched: Touched, path: string) =>
  Effect.catchIf(places.of(path), isMistake, ({ message }) => {
    touched.doubt(message)
    return Effect.succeed([])
  })

/** What the checks of one line share. */
export interface Looking {
  readonly places: Places
  readonly touched: Touched
  readonly found: (argument: Argument) => Effect.Effect<ReadonlyArray<string>, ToolError>
  readonly treeFiles: TreeFiles
  readonly reading: (path: string) => Action
  readonly editing: (path: string) => Action
}

/** The possible texts of a word: its matches, if it is a pattern. */
export const textsOf = ({ found }: Looking, text: string, word: Argument | undefined) =>
  word?.glob === undefined ? Effect.succeed([text]) : Effect.map(found(word), (paths) => [text, ...paths])
