/** What `skein tasks clean` does: removes the worktrees of settled tasks, but never work that exists nowhere else. */
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

/** The service that owns the worktrees of tasks. */
export const isolation = Layer.unwrapEffect(
  Effect.gen(function*() {
    const { data, register } = yield* DataDirs
    return Layer.provide(
      Worktrees.layer({ dataDirectory: data, register, environment: yield* environment }),
      NodeFileSystem.layer
    )
  })
)

/** The contents of a worktree, for people. */
const contents = ({ changes }: Leftover): string => {
  if (changes === "none") return "no changes"
  if (changes === "unknown") return "unknown changes: its repository no longer exists"
  const { commits, uncommitted } = changes
  return `${commits} commit${commits === 1 ? "" : "s"}, ${uncommitted} uncommitted file${uncommitted === 1 ? "" : "s"}`
}

const lineOf = (what: string, leftover: Leftover): ReadonlyArray<string> => [
  what,
  leftover.directory,
  contents(leftover),
  leftover.origin?.description ?? ""
]

/** The worktrees of tasks, and whether each is in use. */
export const listWorktrees = Effect.gen(function*() {
  const store = yield* SessionStorage
  const leftovers = yield* Effect.flatMap(Isolation, ({ list }) => list)
  return yield* Effect.forEach(leftovers, (leftover) =>
    Effect.map(
      store.runs({ taskID: leftover.taskID, unsettled: true }),
      ({ rows }) => ({ ...leftover, atWork: rows.length > 0 })
    ))
})

/** The outcome for a worktree. */
export type WorktreeEnd = "at_work" | "kept" | "would_remove" | "removed" | "failed"

const isSafe = ({ changes }: Leftover): boolean =>
  changes === "none" || (changes !== "unknown" && changes.onlyHere + changes.uncommitted === 0)

/** Removes what can be removed, and returns the outcome for each. */
export const cleaned = Effect.fnUntraced(function*(options: { readonly dryRun: boolean; readonly force: boolean }) {
  const worktrees = yield* Isolation
  return yield* Effect.forEach(yield* listWorktrees, (leftover) => {
    const end = (is: WorktreeEnd, message?: string) => ({
      ...leftover,
      end: is,
      ...(message === undefined ? {} : { message })
    })
    if (leftover.atWork) return Effect.succeed(end("at_work"))
    if (!options.force && !isSafe(leftover)) return Effect.succeed(end("kept"))
    if (options.dryRun) return Effect.succeed(end("would_remove"))
    return Effect.match(worktrees.remove(leftover.taskID, { force: options.force }), {
      onSuccess: () => end("removed"),
      onFailure: ({ message }) => end("failed", message)
    })
  })
})

const words = { at_work: "at work", kept: "kept", would_remove: "would be removed", removed: "removed" } as const

/** Removes what can be removed, and reports on each. */
export const cleanWorktrees = ({ flags }: {
  readonly flags: { readonly "dry-run": boolean; readonly force: boolean; readonly db: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const found = yield* cleaned({ dryRun: flags["dry-run"], force: flags.force })
    if (found.length === 0) stdio.err("No task has left a worktree.")
    for (const each of found) {
      if (each.end === "failed") stdio.err(errorLine(each.message ?? ""))
      else printLine(stdio, lineOf(words[each.end], each))
    }
    return found.some(({ end }) => end === "failed") ? ExitCode.failed : ExitCode.done
  }).pipe(Effect.provide(Layer.provideMerge(Layer.merge(storage, isolation), platform({ database: flags.db }))))
