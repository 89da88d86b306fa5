/** Takes back what tools changed in files, as far as the files are still as the tools left them. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { SessionHost } from "../../SessionHost.ts"
import type { RestoredFile } from "../model/Request.ts"
import type { FileChange } from "./fileChanges.ts"

/** What can be taken back, and the files for which it cannot. */
export interface RestorePlan {
  readonly files: ReadonlyArray<RestoredFile>
  readonly others: ReadonlyArray<string>
}

/** The text before a change; undefined where it does not fit the text of now. */
type Undo = (text: string, diff: string) => string | undefined

const loadUndo: Effect.Effect<Undo> = Effect.map(
  Effect.promise(() => import("diff")),
  ({ applyPatch, parsePatch, reversePatch }): Undo => (text, diff) => {
    const [patch] = parsePatch(diff)
    if (patch === undefined) return undefined
    const before = applyPatch(text, reversePatch(patch), { fuzzFactor: 0 })
    return before === false ? undefined : before
  }
)

/** The text of a file before all of its changes, the latest of which comes first; `undefined` inside where it was created. */
const undone = (text: string | undefined, changes: ReadonlyArray<FileChange>, undo: Undo): RestoredFile | undefined => {
  let now = text
  for (const { diff, isCreated } of changes) {
    if (diff === undefined) return undefined
    // Of a file that is gone, a diff makes what it held.
    const before = undo(now ?? "", diff)
    if (before === undefined || (isCreated && before !== "")) return undefined
    now = isCreated ? undefined : before
  }
  const [first] = changes
  return first === undefined ? undefined : { file: first.file, text: now }
}

/** Says what can be taken back. Changes nothing. */
export const planRestore = (
  host: SessionHost,
  directory: string,
  changes: ReadonlyArray<FileChange>
): Effect.Effect<RestorePlan> =>
  Effect.gen(function*() {
    const undo = yield* loadUndo
    const byFile = Arr.groupBy(changes, ({ file }) => file)
    const looked = yield* Effect.forEach(Object.entries(byFile), ([file, each]) =>
      Effect.map(host.read(directory, file), (text) => ({ file, found: undone(text, each, undo) })))
    return {
      files: looked.flatMap(({ found }) =>
        found === undefined ? [] : [found]
      ),
      others: looked.flatMap(({ file, found }) => found === undefined ? [file] : [])
    }
  })
