/** What `skein tasks clean` does: removes the worktrees of tasks that are not at work, but never what is nowhere else. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import { Isolation, type Leftover } from "@skein/core/Isolation"
import { SessionStorage } from "@skein/core/SessionStorage"
import { environment } from "@skein/tools/Environment"
import * as Worktrees from "@skein/tools/Worktrees"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, storage } from "../app.ts"
import { errorLine } from "../explain.ts"
import { printLine } from "./print.ts"

const isolation = Layer.unwrapEffect(
  Effect.gen(function*() {
    const { data } = yield* DataDirs
    return Layer.provide(
      Worktrees.layer({ dataDirectory: data, environment: yield* environment }),
      NodeFileSystem.layer
    )
  })
)

/** What is in a worktree, for people. */
const contents = ({ changes }: Leftover): string => {
  if (changes === "none") return "no changes"
  if (changes === "unknown") return "changes that cannot be told, as its repository is gone"
  return `${changes.commits} commits, ${changes.uncommitted} uncommitted files`
}

const lineOf = (what: string, leftover: Leftover): ReadonlyArray<string> => [
  what,
  leftover.directory,
  contents(leftover),
  leftover.origin?.description ?? ""
]

/** Removes what can be removed, and reports on each. */
export const cleanWorktrees = ({ flags }: {
  readonly flags: { readonly "dry-run": boolean; readonly force: boolean; readonly db: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const store = yield* SessionStorage
    const worktrees = yield* Isolation
    const leftovers = yield* worktrees.list
    if (leftovers.length === 0) stdio.err("No task has left a worktree.")
    let exitCode: number = ExitCode.done
    for (const leftover of leftovers) {
      const { changes, taskID } = leftover
      const atWork = (yield* store.runs({ taskID, unsettled: true })).rows.length > 0
      const goes = !atWork &&
        (flags.force || changes === "none" || (changes !== "unknown" && changes.onlyHere + changes.uncommitted === 0))
      if (!goes) printLine(stdio, lineOf(atWork ? "at work" : "kept", leftover))
      else if (flags["dry-run"]) printLine(stdio, lineOf("would be removed", leftover))
      else {
        yield* worktrees.remove(taskID, { force: flags.force }).pipe(
          Effect.map(() => printLine(stdio, lineOf("removed", leftover))),
          Effect.catchAll((error) =>
            Effect.sync(() => {
              exitCode = ExitCode.failed
              stdio.err(errorLine(error.message))
            })
          )
        )
      }
    }
    return exitCode
  }).pipe(Effect.provide(Layer.provideMerge(Layer.merge(storage, isolation), platform({ database: flags.db }))))
