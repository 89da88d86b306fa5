/** Decides what commands can do at all, whatever they were allowed to do: they run in bubblewrap, where that is to be had. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"

/** Commands cannot be confined as they have to be; the message says why, and what to do. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", { message: Schema.String }) {}

/** A command for which a sandbox is made. */
export interface SandboxPlace {
  /** The directory that it works in: what it may change, but for names that are protected. */
  readonly directory: string
  /** What it may change besides, because a person or a rule has consented to that: absolute paths, also of protected names. */
  readonly approved: ReadonlyArray<string>
  /** Absolute paths outside of the directory that it may also remove, move, or put something in the place of. */
  readonly reached?: ReadonlyArray<string>
  /** Whether it may change nothing in the directory either: then of what is approved only files that are there. */
  readonly readOnly?: boolean
  /** Told, when the scope closes, what it has done that could only be undone: sentences for the model, which the log has as well. */
  readonly tell?: (note: string) => Effect.Effect<void>
}

/** What sandboxes go by. */
export interface SandboxOptions {
  /** Whether commands may use the network. */
  readonly network: boolean
  /** Where Skein keeps its files: commands can read the long outputs in it. Absolute. */
  readonly dataDirectory: string
  /** Files that no command may change wherever they lie, such as scripts that run outside of the sandbox; absolute. */
  readonly fixed?: ReadonlyArray<string>
  /** Where `bwrap` is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What confined commands cannot do, beside writing where they have no business. */
export interface SandboxLimits {
  /** Whether there is a network for them. */
  readonly network: boolean
}

/** What confines commands. */
export class Sandbox extends Context.Tag("@skein/tools/Sandbox")<Sandbox, {
  /**
   * What stands before a program and its arguments, so that it runs confined; nothing where it runs as it is. It holds as
   * long as the scope is open.
   */
  readonly confine: (place: SandboxPlace) => Effect.Effect<ReadonlyArray<string>, SandboxError, Scope.Scope>
  /** How commands are confined here; `undefined` where they run as they are. */
  readonly limits: Effect.Effect<SandboxLimits | undefined>
}>() {
  /** Whether commands can be confined here at all; fails with why not. */
  static readonly trial = (environment: SandboxOptions["environment"]): Effect.Effect<void, SandboxError> =>
    Effect.flatMap(
      Effect.promise(() => import("./internal/bwrapTrial.ts")),
      ({ bwrapTrial }) => Effect.mapError(bwrapTrial(environment), (why) => new SandboxError({ message: why }))
    )

  /** Nothing is confined. */
  static readonly layerNoop: Layer.Layer<Sandbox> = Layer.succeed(Sandbox, {
    confine: () => Effect.succeed([]),
    limits: Effect.succeed(undefined)
  })

  /** Bubblewrap where it can be used; else commands run as they are, and the log says so at the first of them. */
  static readonly layer = (options: SandboxOptions): Layer.Layer<Sandbox> =>
    Layer.scoped(
      Sandbox,
      Effect.gen(function*() {
        const bwrap = yield* Effect.cached(Effect.tapErrorTag(yield* bubblewrap(options), "SandboxError", tell))
        return {
          confine: (place) =>
            Effect.matchEffect(bwrap, { onSuccess: (confine) => confine(place), onFailure: () => Effect.succeed([]) }),
          limits: Effect.match(bwrap, { onSuccess: () => limitsOf(options), onFailure: () => undefined })
        }
      })
    )

  /** Bubblewrap, and nothing without it. */
  static readonly layerRequired = (options: SandboxOptions): Layer.Layer<Sandbox, SandboxError> =>
    Layer.scoped(
      Sandbox,
      Effect.map(
        Effect.flatten(bubblewrap(options)),
        (confine) => ({ confine, limits: Effect.succeed(limitsOf(options)) })
      )
    )
}

const limitsOf = ({ network }: SandboxOptions): SandboxLimits => ({ network })

const tell = ({ message }: SandboxError) =>
  Effect.logError(`${message} Commands run without it; with "sandbox": "off" in your config this is not said again.`)

const bubblewrap = (options: SandboxOptions) =>
  Effect.map(Effect.scope, (scope) =>
    // Loaded at first use: the program starts without it.
    Effect.flatMap(
      Effect.promise(() => import("./internal/bwrap.ts")),
      ({ makeBwrap }) => Effect.provideService(makeBwrap(options), Scope.Scope, scope)
    ))
