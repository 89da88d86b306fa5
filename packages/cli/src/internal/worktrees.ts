/** Removes the worktrees of settled tasks, but never work that exists nowhere else. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import { Isolation, type Leftover } from "@skein/core/Isolation"
import { SessionStorage } from "@skein/core/SessionStorage"
import { environment } from "@skein/tools/Environment"
import * as Worktrees from "@skein/tools/Worktrees"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

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
type WorktreeEnd = "at_work" | "kept" | "would_remove" | "removed" | "failed"

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
