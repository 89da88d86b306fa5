/**
 * Owns the processes of commands, so that none outlives its command: marks them, keeps records of them, and ends those
 * of a Skein that died.
 */
import { Owner } from "@skein/core/Owner"
import type { SessionID } from "@skein/domain/Id"
import type { UnknownException } from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { appendFileSync } from "node:fs"
import * as fs from "node:fs/promises"
import { join, resolve } from "node:path"
import { attempt } from "./internal/disk.ts"
import { reapPlaceholders } from "./internal/placeholders.ts"
import {
  endedInTime,
  isThere,
  killMarked,
  look,
  marked,
  markedBy,
  marksIn,
  ofTree,
  pids,
  signalGroup,
  signalStrays,
  type Stray,
  strays,
  variable
} from "./internal/process/processes.ts"
import { recordsIn } from "./internal/secretFiles.ts"
import { type Tracked, unwatched } from "./Tracked.ts"
import { Watchdog } from "./Watchdog.ts"

/** A command with a record. */
interface Left {
  readonly file: string
  readonly mark: string
  /** Its process, if known. */
  readonly leader: Stray | undefined
}

/**
 * How long to keep a record if it is unknown whether its Skein still runs, for example on another machine: a day, in
 * milliseconds.
 */
const longest = 86_400_000

const form = /^(?<owner>\S+)\n(?:(?<pid>[1-9]\d*) (?<began>\d+)\n)?$/

/** The members of the groups whose leaders are still the same, their children, and the processes with the marks. */
const remains = (left: ReadonlyArray<Left>): ReadonlyArray<Stray & { readonly group: number | undefined }> => {
  const leaders = left.flatMap(({ leader }) =>
    leader !== undefined && look(leader.pid)?.began === leader.began
      ? [leader.pid] :
      []
  )
  const groups = new Set(leaders)
  const members = groups.size === 0 ? [] : pids().flatMap((pid) => {
    const found = look(pid)
    return found !== undefined && groups.has(found.group) ? [{ pid, began: found.began, group: found.group }] : []
  })
  const others = [...leaders.flatMap(strays), ...marked(new Set(left.map(({ mark }) => mark)))]
  const all = [...members, ...others.map((each) => ({ ...each, group: undefined }))]
  return all.filter((each, index) => all.findIndex(({ pid }) => pid === each.pid) === index)
}

const end = Effect.fnUntraced(function*(left: ReadonlyArray<Left>) {
  const found = remains(left)
  signalStrays(found, "SIGTERM")
  // A shorter run does not wait for them, and leaves nothing to the next start.
  yield* Effect.exit(Effect.interruptible(endedInTime(found)))
  // A group is the same as long as one of its members is.
  const groups = new Set(found.flatMap((each) => each.group !== undefined && isThere(each) ? [each.group] : []))
  for (const group of groups) signalGroup(group, "SIGKILL")
  signalStrays(found, "SIGKILL")
  killMarked(new Set(left.map(({ mark }) => mark)))
  return found.length
})

/** Reads the records that belong to this user. In a directory for temporary files, anybody may have written others. */
const read = (directory: string, name: string) =>
  Effect.tryPromise(async () => {
    const file = join(directory, name)
    const stat = await fs.lstat(file)
    const isOurs = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    const { began, owner, pid } = (isOurs ? form.exec(await fs.readFile(file, "utf8"))?.groups : undefined) ?? {}
    if (owner === undefined) return undefined
    const leader = pid === undefined || began === undefined ? undefined : { pid: Number(pid), began }
    return { file, mark: name, leader, owner, time: stat.mtimeMs }
  }).pipe(
    // Its command may be ending just now.
    Effect.catchAll(() => Effect.succeed(undefined))
  )

const remove = ({ file }: { readonly file: string }) =>
  Effect.catchAll(
    Effect.tryPromise(() => fs.rm(file, { force: true })),
    ({ cause }) => Effect.logWarning(`${file} could not be removed`, cause)
  )

/** Checks the records of a directory. `under` are marks to spare: this process carries them itself. */
const reapProcesses = Effect.fnUntraced(function*(options: {
  readonly directory: string
  readonly names: ReadonlyArray<string>
  readonly owner: typeof Owner.Service
  readonly under: ReadonlyArray<string>
}) {
  const { directory, names, owner, under } = options
  const now = yield* Clock.currentTimeMillis
  const known = yield* Effect.forEach(
    names.filter((name) => /^[a-z0-9]+$/.test(name) && !under.includes(name)),
    (name) => read(directory, name)
  )
  const left: Array<Left> = []
  for (const record of known) {
    if (record === undefined || record.owner === owner.id) continue
    if (yield* owner.isGone(record.owner)) left.push(record)
    else if (now - record.time > longest) yield* remove(record)
  }
  if (left.length === 0) return 0
  const count = yield* end(left)
  yield* Effect.forEach(left, remove, { discard: true })
  if (count > 0) yield* Effect.logInfo(`Ended ${count} processes of commands whose Skein has died`)
  return count
})

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
      : reapProcesses({ directory, names, owner, under: marksIn(environment[variable]) })).pipe(
      Effect.tap(Effect.forEach(ofSandboxes, (records) => reapPlaceholders(records, owner), { discard: true })),
      // Work that has begun is completed. Interruption only shortens its waits.
      Effect.uninterruptible
    )

  return { track, reap }
})

export type { Tracked } from "./Tracked.ts"

/** The processes of commands. */
export class Processes extends Context.Tag("@skein/tools/Processes")<Processes, {
  /**
   * Call it before a command is started, of a tree or of the program itself. It keeps a record of the command until the
   * scope closes; by then no process of it may be left. `endsItself`: it ends if this process is killed. A record that cannot
   * be kept is logged, and has no other effect.
   */
  readonly track: (rootID?: SessionID, endsItself?: boolean) => Effect.Effect<Tracked, never, Scope.Scope>
  /**
   * Ends processes of commands whose Skein has died. It asks them to end, and kills them after a second or on
   * interruption. Returns how many there were. Also removes files that their sandboxes left.
   */
  readonly reap: Effect.Effect<number>
}>() {
  /**
   * Keeps records in `processes/` in the data directory (absolute). From the start of the layer, a fiber ends what dead
   * processes left.
   */
  static readonly layer = (options: {
    readonly dataDirectory: string
    /** The register of all programs of Skein of this user, absolute: records of their sandboxes are beside it. */
    readonly register?: string | undefined
    /** The environment of this process, which may itself be a command of another Skein. */
    readonly environment: Readonly<Record<string, string | undefined>>
  }): Layer.Layer<Processes, never, Owner> =>
    Layer.scoped(
      Processes,
      Effect.tap(makeProcesses(options), ({ reap }) => Effect.forkScoped(reap))
    )
}
