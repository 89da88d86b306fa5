/** Owns that config is read again where its files change, for programs that run for long. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ConfigError } from "./ConfigError.ts"
import { type ConfigOptions, load, type LoadedConfig } from "./ConfigFiles.ts"
import type { DataDirs } from "./DataDirs.ts"
import { recording } from "./internal/recording.ts"

/** How often the files are polled, in milliseconds. A change counts once it has been stable for one poll. */
export const interval = 1_000

/** What the files say, or what is wrong with them. */
export type Read = Either.Either<LoadedConfig, ConfigError>

interface Watched {
  readonly read: Read
  /** What was looked at for it, whether or not it is there. */
  readonly paths: ReadonlySet<string>
  /** How that stood when it was read. */
  readonly stood: string
}

interface Watching {
  readonly watched: Watched
  /** How files stood at the last look. */
  readonly seen: string
  /** What was told last. */
  readonly last: string
}

type NextRead = Effect.Effect<readonly [Read, Watching], never, DataDirs | FileSystem.FileSystem>

/** How files stand: what is there, when it was changed, how long it is. Looking costs a call for each and reads nothing. */
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
  // What changed while it was read is read once more.
  const isStill = before === (yield* standing(known)) && [...paths].every((path) => known.has(path))
  return { read, paths, stood: isStill ? yield* standing(paths) : "" } satisfies Watched
})

const fingerprint = (read: Read): string =>
  JSON.stringify(
    Either.isLeft(read) ? read.left.issues : [read.right.settings, read.right.entries, read.right.warnings]
  )

/** What the files say at first, and again each time that they have changed and say something else. */
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

  /** Tells what was read where it is something else. */
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

/** What the files say, and the wait for what they say next. */
export interface ConfigVersion {
  readonly config: LoadedConfig
  /** Ends when the files say something else that can be used. A mistake is logged, and waited out. */
  readonly next: Effect.Effect<ConfigVersion>
}

/** The config of a directory now, and each time that its files have changed. It is watched as long as the scope lasts. */
export const follow = Effect.fnUntraced(function*(options: ConfigOptions) {
  const context = yield* Effect.context<DataDirs | FileSystem.FileSystem>()
  const pull = yield* Stream.toPull(watch(options))
  // The files are watched for ever.
  const read = Effect.orElse(Effect.map(Effect.provide(pull, context), Chunk.unsafeHead), () => Effect.never)
  const next: Effect.Effect<ConfigVersion> = Effect.flatMap(
    read,
    Either.match({
      onLeft: ({ message }) =>
        Effect.logError("The config was changed and cannot be used; what held before holds on", message).pipe(
          Effect.annotateLogs({ directory: options.directory }),
          Effect.zipRight(Effect.suspend(() => next))
        ),
      onRight: (config) => Effect.succeed({ config, next })
    })
  )
  const first: ConfigVersion = { config: yield* yield* read, next }
  return first
})
