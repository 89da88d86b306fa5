/** Reads config again when its files change, for long-running programs. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ConfigError } from "./ConfigError.ts"
import { type ConfigOptions, load, type LoadedConfig } from "./ConfigFiles.ts"
import type { DataDirs } from "./DataDirs.ts"

const asking: ReadonlySet<PropertyKey> = new Set(["stat", "readFile", "readDirectory", "realPath"])

/** The same file system; adds every requested path to `paths`, existing or not. */
export const recording = (fs: FileSystem.FileSystem, paths: Set<string>): FileSystem.FileSystem =>
  new Proxy(fs, {
    get: (target, name, receiver): unknown => {
      const member: unknown = Reflect.get(target, name, receiver)
      if (!asking.has(name) || typeof member !== "function") return member
      return (path: string, ...rest: ReadonlyArray<unknown>): unknown => {
        paths.add(path)
        return Reflect.apply(member, target, [path, ...rest])
      }
    }
  })

/** How often the files are polled, in milliseconds. A change counts once it has been stable for one poll. */
export const interval = 1_000

/** The content of the files, or their errors. */
export type Read = Either.Either<LoadedConfig, ConfigError>

interface Watched {
  readonly read: Read
  /** The paths that were checked for it, existing or not. */
  readonly paths: ReadonlySet<string>
  /** Their state when it was read. */
  readonly stood: string
}

interface Watching {
  readonly watched: Watched
  /** The state of files at the last poll. */
  readonly seen: string
  /** The last emitted content. */
  readonly last: string
}

type NextRead = Effect.Effect<readonly [Read, Watching], never, DataDirs | FileSystem.FileSystem>

/** The state of files: whether they exist, their times and sizes. This takes one call per file and reads nothing. */
const standing = Effect.fnUntraced(function*(paths: ReadonlySet<string>) {
  const fs = yield* FileSystem.FileSystem
  const lines: Array<string> = []
  for (const path of paths) {
    const info = yield* Effect.option(fs.stat(path))
    lines.push(
      Option.match(info, {
        onNone: () => path,
        onSome: ({ ino, mtime, size, type }) =>
          [path, type, size, Option.getOrElse(ino, () => 0), Option.map(mtime, Number).pipe(Option.getOrElse(() => 0))]
            .join(" ")
      })
    )
  }
  return lines.join("\n")
})

const readAll = Effect.fnUntraced(function*(options: ConfigOptions, known: ReadonlySet<string>) {
  const fs = yield* FileSystem.FileSystem
  const before = yield* standing(known)
  const paths = new Set<string>()
  const read = yield* Effect.either(Effect.provideService(load(options), FileSystem.FileSystem, recording(fs, paths)))
  // Changes during the read are read again.
  const isStill = before === (yield* standing(known)) && [...paths].every((path) => known.has(path))
  return { read, paths, stood: isStill ? yield* standing(paths) : "" } satisfies Watched
})

const fingerprint = (read: Read): string =>
  JSON.stringify(
    Either.isLeft(read) ? read.left.issues : [read.right.settings, read.right.entries, read.right.warnings]
  )

/** Emits the content of the files at first, and again whenever it changes. */
export const watch = (
  options: ConfigOptions
): Stream.Stream<Read, never, DataDirs | FileSystem.FileSystem> => {
  const next = ({ last, seen, watched }: Watching): NextRead =>
    Effect.flatMap(
      Effect.zipRight(Effect.sleep(interval), standing(watched.paths)),
      (now) =>
        now === watched.stood || now !== seen
          ? next({ watched, seen: now, last })
          : Effect.flatMap(readAll(options, watched.paths), (read) => step(read, last))
    )

  /** Emits the content if it differs from the last one. */
  const step = (watched: Watched, last: string): NextRead => {
    const words = fingerprint(watched.read)
    const state = { watched, seen: watched.stood, last: words }
    return words === last ? next(state) : Effect.succeed([watched.read, state])
  }

  return Stream.unwrap(
    Effect.map(readAll(options, new Set()), (first) => {
      const begin: Watching = { watched: first, seen: first.stood, last: fingerprint(first.read) }
      return Stream.concat(
        Stream.make(first.read),
        Stream.unfoldEffect(begin, (state) => Effect.map(next(state), Option.some))
      )
    })
  )
}

/** The content of the files, and an effect that waits for the next one. */
export interface ConfigVersion {
  readonly config: LoadedConfig
  /** Waits for the next usable content. A mistake is logged, and waiting continues. */
  readonly next: Effect.Effect<ConfigVersion>
}

/** The config of a directory, and its later versions. The files are watched until the scope closes. */
export const follow = Effect.fnUntraced(function*(options: ConfigOptions) {
  const context = yield* Effect.context<DataDirs | FileSystem.FileSystem>()
  const pull = yield* Stream.toPull(watch(options))
  // The stream of changes never ends.
  const read = Effect.orElse(Effect.map(Effect.provide(pull, context), Chunk.unsafeHead), () => Effect.never)
  const next: Effect.Effect<ConfigVersion> = Effect.flatMap(
    read,
    Either.match({
      onLeft: ({ message }) =>
        Effect.logError("The changed config cannot be used; the previous one stays", message).pipe(
          Effect.annotateLogs({ directory: options.directory }),
          Effect.zipRight(Effect.suspend(() => next))
        ),
      onRight: (config) => Effect.succeed({ config, next })
    })
  )
  const first: ConfigVersion = { config: yield* yield* read, next }
  return first
})
