/** `skein sessions prune`: removes what is old. */
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { restingTrees } from "@skein/core/SessionLookup"
import { SessionStorage, type StoredLease } from "@skein/core/SessionStorage"
import { Workspaces } from "@skein/core/Workspaces"
import { Ids } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { parseAge as parse } from "@skein/domain/Typed"
import { isPostgres } from "@skein/storage/PostgresUrl"
import * as SqliteSpace from "@skein/storage/SqliteSpace"
import { escapeLine } from "@skein/tui/Escape"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { command, type Flags, type Input } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { storage, workspaces } from "../internal/app.ts"
import { databaseFlags, directoryFlags, formatFlags } from "../internal/flags.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { formatBytes, formatTime, printResult } from "../internal/print.ts"
import { forget, keptDays, keptEvents } from "../internal/retention.ts"

const flags = {
  ...formatFlags,
  "older-than": {
    type: "text",
    value: "AGE",
    description: "Also removes sessions unchanged for that long, such as 36h, 90d or 12w"
  },
  all: { type: "switch", description: "With --older-than: sessions of all projects, not just this one" },
  "dry-run": { type: "switch", description: "Shows what would be removed, and removes nothing" },
  vacuum: { type: "switch", description: "Compacts a SQLite file, which frees disk space" },
  ...directoryFlags,
  ...databaseFlags
} as const satisfies Flags

type Given = Input<typeof flags>["flags"]

/** A younger session may still be in use. */
const least = 86_400_000

/** Reads `36h`, `90d` or `12w`. Returns milliseconds, or undefined if it is not an age, or less than a day. */
export const parseAge = (text: string): number | undefined => {
  const age = parse(text)
  return age !== undefined && age >= least ? age : undefined
}

/** Removes it, and waits until that is done. What cannot be removed is logged. */
const forgetSteps = Effect.fnUntraced(function*(deleted: ReadonlyArray<SessionInfo>) {
  const kept = deleted.filter(({ workspace }) => workspace !== undefined)
  if (kept.length === 0) return
  const { home } = yield* DataDirs
  const { settings } = yield* ConfigFiles.load({ directory: home })
  const forgetting = Effect.gen(function*() {
    const steps = yield* Workspaces
    for (const { id, workspace } of kept) if (workspace !== undefined) yield* steps.forget(id, workspace)
    yield* steps.settled
  })
  yield* Effect.provide(forgetting, yield* workspaces(settings))
})

const readAge = (text: string): Effect.Effect<number, UsageError> =>
  Effect.suspend(() => {
    const age = parseAge(text)
    return age === undefined
      ? new UsageError({
        message: `--older-than: ${JSON.stringify(text)} is not an age of a day or more. Write it as 36h, 90d or 12w.`
      })
      : Effect.succeed(age)
  })

/** Removes a tree that no process holds. A tree that a process has resumed meanwhile stays. */
const remove = ({ found, root }: { readonly root: SessionInfo; readonly found: StoredLease }) =>
  Effect.gen(function*() {
    const { commit } = yield* Journal
    const lease = { rootID: root.id, owner: "sessions prune", epoch: found.epoch + 1 }
    yield* commit([{ _tag: "Hold", lease, length: 0, found }, { _tag: "DeleteSession", info: root }])
    return true
  }).pipe(
    Effect.catchIf((error) => error.reason === "held", () => Effect.succeed(false))
  )

const idsBelow = (root: SessionInfo) =>
  Effect.flatMap(
    SessionStorage,
    (store) => Effect.map(store.sessions({ rootID: root.id }), ({ rows }) => rows.map(({ id }): string => id))
  )

const journal = Layer.provide(Journal.layer, [Bus.layer, Ids.layer])

/** Removes it. Asked to or not, tells what there is to remove. */
const removeOld = Effect.fnUntraced(function*({ all, dir, "dry-run": dryRun }: Given, age: number | undefined) {
  const now = yield* Clock.currentTimeMillis
  const projectID = all ? undefined : yield* Effect.flatMap(directoryOf(dir), projectOf)
  const removed = new Set<string>()
  const sessions: Array<SessionInfo> = []
  for (const tree of age === undefined ? [] : yield* restingTrees(now - age, projectID)) {
    const ids = yield* idsBelow(tree.root)
    if (!dryRun && !(yield* remove(tree))) continue
    for (const id of ids) removed.add(id)
    sessions.push(tree.root)
  }
  if (!dryRun) yield* forgetSteps(sessions)
  return { sessions, kept: yield* keptEvents, ...(yield* forget({ dryRun, removed })) }
})

type Pruned = Effect.Effect.Success<ReturnType<typeof removeOld>>

const hour = 3_600_000

/** An age in the largest unit that needs no fraction. */
const formatAge = (age: number): string =>
  age % (24 * hour) === 0 ? plural(age / 24 / hour, "day") : plural(Math.round(age / hour), "hour")

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

interface Space {
  readonly before: number
  readonly after: number
}

const spaceLine = ({ "dry-run": dryRun, vacuum }: Given, space: Space | undefined): string =>
  space === undefined
    ? "PostgreSQL reuses the space automatically."
    : vacuum && !dryRun
    ? `The database takes ${formatBytes(space.after)}; it was ${formatBytes(space.before)}, and ${
      formatBytes(Math.max(0, space.before - space.after))
    } are free again.`
    : `The database takes ${formatBytes(space.after)}; --vacuum frees its empty pages.`

const linesOf = (
  { events, kept, sessions, texts }: Pruned,
  given: Given,
  space: Space | undefined
): ReadonlyArray<string> => [
  ...sessions.map(({ id, time, title }) => `${id}  ${formatTime(time.updated)}  ${escapeLine(title)}`),
  `${given["dry-run"] ? "Would remove" : "Removed"} ${plural(sessions.length, "session")}, ${
    plural(events, "event")
  } and ${plural(texts.files, "long text")} (${formatBytes(texts.bytes)}); events are kept for ${
    formatAge(kept)
  }, long texts for ${keptDays} days.`,
  spaceLine(given, space)
]

/** Removes old data. */
export const prune = command({
  name: "prune",
  summary: "Removes old events, long tool outputs and, with --older-than, sessions",
  details: "Skein keeps events and long tool outputs for 30 days. `skein run` prunes them once a day.",
  flags,
  run: ({ flags: given }) =>
    Effect.gen(function*() {
      const { database } = yield* DataDirs
      const { "dry-run": dryRun, "older-than": olderThan, vacuum } = given
      const age = olderThan === undefined ? undefined : yield* readAge(olderThan)
      const isFile = !isPostgres(database)
      if (vacuum && !isFile) {
        return yield* new UsageError({
          message:
            "--vacuum is for SQLite files. PostgreSQL reuses the space automatically (autovacuum); leave the flag out."
        })
      }
      const before = isFile ? yield* SqliteSpace.size(database) : undefined
      // Close the database before its file is rewritten: closing merges the write-ahead log into the file.
      const pruned = yield* Effect.provide(removeOld(given, age), Layer.provideMerge(journal, storage))
      if (vacuum && !dryRun) yield* SqliteSpace.compact(database)
      const space = before === undefined ? undefined : { before, after: yield* SqliteSpace.size(database) }
      const { events, sessions, texts } = pruned
      yield* printResult(
        given,
        { dryRun, sessions: sessions.map(({ id }) => id), events, texts, database: space },
        `${linesOf(pruned, given, space).join("\n")}\n`
      )
    })
})
