/** Owns that config is read again where its files change, for programs that run for long. */
import * as FileSystem from "@effect/platform/FileSystem"
import { Agent, builtins } from "@skein/core/Agent"
import { Config } from "@skein/core/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { agentsFrom } from "./AgentsConfig.ts"
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

type Told = Effect.Effect<readonly [Read, Watching], never, DataDirs | FileSystem.FileSystem>

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

const told = (read: Read): string =>
  JSON.stringify(
    Either.isLeft(read) ? read.left.issues : [read.right.settings, read.right.entries, read.right.warnings]
  )

/** What the files say at first, and again each time that they have changed and say something else. */
export const watch = (
  options: ConfigOptions
): Stream.Stream<Read, never, DataDirs | FileSystem.FileSystem> => {
  const next = ({ last, seen, watched }: Watching): Told =>
    Effect.flatMap(
      Effect.zipRight(Effect.sleep(interval), standing(watched.paths)),
      (now) =>
        now === watched.stood || now !== seen
          ? next({ watched, seen: now, last })
          : Effect.flatMap(readAll(options, watched.paths), (read) => step(read, last))
    )

  /** Tells what was read where it is something else. */
  const step = (watched: Watched, last: string): Told => {
    const words = told(watched.read)
    const state = { watched, seen: watched.stood, last: words }
    return words === last ? next(state) : Effect.succeed([watched.read, state])
  }

  return Stream.unwrap(
    Effect.map(readAll(options, new Set()), (first) => {
      const begin: Watching = { watched: first, seen: first.stood, last: told(first.read) }
      return Stream.concat(
        Stream.make(first.read),
        Stream.unfoldEffect(begin, (state) => Effect.map(next(state), Option.some))
      )
    })
  )
}

interface Held {
  readonly config: LoadedConfig
  readonly agent: Context.Tag.Service<Agent>
}

const held = Effect.fnUntraced(function*(read: Read) {
  const loaded = yield* read
  const { agents, broken, defaultAgent, permission } = yield* agentsFrom(
    loaded.settings,
    builtins,
    loaded.origins,
    loaded.broken
  )
  const config = { ...loaded, settings: { ...loaded.settings, default_agent: defaultAgent } }
  return { config, agent: yield* Effect.provide(Agent, Agent.layer(agents, permission, broken)) } satisfies Held
})

/**
 * Settings and agents that are those of the files as they are now. A mistake that is made while the program runs is logged,
 * and what held before holds on.
 */
export const layer = (
  options: ConfigOptions
): Layer.Layer<Config | Agent, ConfigError, DataDirs | FileSystem.FileSystem> =>
  Layer.scopedContext(Effect.gen(function*() {
    let now: Held | undefined
    const first = yield* Effect.flatMap(load(options), (config) => held(Either.right(config)))
    now = first
    yield* Effect.forkScoped(
      Stream.runForEach(watch(options), (read) =>
        Effect.matchEffect(held(read), {
          onFailure: ({ message }) => Effect.logError("The config was changed and cannot be used", message),
          onSuccess: (next) =>
            Effect.sync(() => {
              now = next
            })
        }))
    )
    const current = () => now ?? first
    return Context.make(Config, {
      get settings() {
        return current().config.settings
      },
      get origins() {
        return current().config.origins
      }
    }).pipe(Context.add(Agent, {
      get all() {
        return current().agent.all
      },
      get: (name) => Effect.suspend(() => current().agent.get(name)),
      rules: (agent) => current().agent.rules(agent),
      ceiling: (agent) => current().agent.ceiling(agent)
    }))
  }))
