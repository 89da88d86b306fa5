/** Keeps a file for each command, from before it starts until none of its processes is left. */
import { Owner } from "@skein/core/Owner"
import type { SessionID } from "@skein/domain/Id"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { appendFileSync } from "node:fs"
import * as fs from "node:fs/promises"
import { join, resolve } from "node:path"
import type { Tracked } from "../../Tracked.ts"
import { Watchdog } from "../../Watchdog.ts"
import { unwatched } from "../../WatchdogPort.ts"
import { attempt, look } from "../processes.ts"
import { recordsIn } from "../sandbox/placeholderRecords.ts"
import { markedBy, marksIn, ofTree, variable } from "./processMarks.ts"

/** Where the records are, and which marks this process has. */
interface Options {
  readonly dataDirectory: string
  readonly register?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

const draw = Effect.map(Random.nextIntBetween(0, 2 ** 48), (number) => number.toString(36))

/** A new mark. It is random, so that no two are equal. Guessing one only lets you end your own processes. */
const newMark = Effect.zipWith(draw, draw, (one, other) => one + other)

/** Marks without records: processes that a crash leaves are not found again. */
export const unrecorded = (environment: Options["environment"]) => ({
  track: (rootID?: SessionID) =>
    Effect.map(newMark, (random): Tracked => {
      const mark = ofTree(random, rootID)
      return { ...unwatched, mark, environment: markedBy(mark, environment) }
    })
})

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

const namesIn = (place: string) =>
  Effect.catchAll(
    Effect.tryPromise(() => fs.readdir(place)),
    (error) =>
      isMissing(error.cause)
        ? Effect.succeed([])
        : Effect.as(Effect.logWarning(`${place} could not be read`, error.cause), [])
  )

/** Removes what sandboxes of dead processes have left. Loaded if there is something to do: most starts find nothing. */
const reapSandboxes = (records: string) =>
  Effect.flatMap(
    Effect.zip(namesIn(records), Owner),
    ([names, owner]) =>
      names.length === 0 ? Effect.void : Effect.flatMap(
        Effect.promise(() => import("../sandbox/reapPlaceholders.ts")),
        ({ reapPlaceholders }) => reapPlaceholders(records, owner)
      )
  )

/** The service over the files of a data directory. Which process a mark became is recorded at once: a crash may follow. */
export const makeProcesses = Effect.fnUntraced(function*({ dataDirectory, environment, register }: Options) {
  const [owner, watchdog] = [yield* Owner, yield* Watchdog]
  const directory = resolve(dataDirectory, "processes")
  const ofSandboxes = new Set([recordsIn({ dataDirectory }), recordsIn({ dataDirectory, register })])
  let isReported = false

  const make = async (file: string) => {
    const write = () => fs.writeFile(file, `${owner.id}\n`, { flag: "wx", mode: 0o600 })
    await write().catch(async (cause: unknown) => {
      if (!isMissing(cause)) throw cause
      await fs.mkdir(directory, { recursive: true, mode: 0o700 })
      await write()
    })
  }

  const failed = (verb: string, file: string) => ({ cause }: UnknownException) =>
    Effect.suspend(() => {
      if (isReported) return Effect.void
      isReported = true
      return Effect.logWarning(`The record of a command, ${file}, could not be ${verb}`, cause)
    })

  const recorded = (mark: string) => {
    const file = join(directory, mark)
    return Effect.as(
      Effect.acquireRelease(
        Effect.catchAll(Effect.tryPromise(() => make(file)), failed("made", file)),
        () =>
          Effect.catchAll(
            Effect.tryPromise(() => fs.rm(file, { force: true })),
            failed("removed", file)
          )
      ),
      file
    )
  }

  const track = Effect.fnUntraced(function*(rootID?: SessionID, endsItself?: boolean) {
    const mark = ofTree(yield* newMark, rootID)
    const file = yield* recorded(mark)
    const watched = yield* watchdog.watch(mark, rootID, endsItself)
    return {
      ...watched,
      mark,
      environment: markedBy(mark, environment),
      started: (pid) => {
        attempt(() => appendFileSync(file, `${pid} ${look(pid)?.began ?? "-"}\n`), undefined)
        watched.started(pid)
      }
    } satisfies Tracked
  })

  const reap = Effect.flatMap(namesIn(directory), (names) =>
    names.length === 0
      ? Effect.succeed(0)
      : Effect.flatMap(
        Effect.promise(() => import("./reapProcesses.ts")),
        ({ reapProcesses }) => reapProcesses({ directory, names, owner, under: marksIn(environment[variable]) })
      )).pipe(
      Effect.tap(Effect.provideService(Effect.forEach(ofSandboxes, reapSandboxes, { discard: true }), Owner, owner)),
      // Work that has begun is completed. Interruption only shortens its waits.
      Effect.uninterruptible
    )

  return { track, reap }
})
