/** Decides what commands can do at all, whatever they were allowed to do: they run in bubblewrap, where that is to be had. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SandboxError } from "./SandboxError.ts"
import type { SandboxLimits, SandboxOptions, SandboxPlace } from "./SandboxPlace.ts"

export type { SandboxOptions, SandboxPlace } from "./SandboxPlace.ts"

/** What confines commands. */
export class Sandbox extends Context.Tag("@skein/tools/Sandbox")<Sandbox, {
  /**
   * What stands before a program and its arguments, so that it runs confined; nothing where it runs as it is. It holds as
   * long as the scope is open.
   */
  readonly confine: (place: SandboxPlace) => Effect.Effect<ReadonlyArray<string>, SandboxError, Scope.Scope>
  /** How commands are confined here; `undefined` where they run as they are. */
  readonly limits: Effect.Effect<SandboxLimits | undefined>
  /** Ends when a confined command takes too much of the machine, with a sentence on what; `pid` is what was started. */
  readonly watch: (pid: number) => Effect.Effect<string>
}>() {
  /** Whether commands can be confined here at all; fails with why not. */
  static readonly trial = (environment: SandboxOptions["environment"]): Effect.Effect<void, SandboxError> =>
    Effect.flatMap(
      Effect.promise(() => import("./internal/sandbox/bwrapTrial.ts")),
      ({ bwrapTrial }) => Effect.mapError(bwrapTrial({ environment }), (why) => new SandboxError({ message: why }))
    )

  /** Nothing is confined. */
  static readonly layerNoop: Layer.Layer<Sandbox> = Layer.succeed(Sandbox, {
    confine: () => Effect.succeed([]),
    limits: Effect.succeed(undefined),
    watch: () => Effect.never
  })

  /** Bubblewrap where it can be used; else commands run as they are, and the log says so at the first of them. */
  static readonly layer = (options: SandboxOptions): Layer.Layer<Sandbox> =>
    Layer.scoped(
      Sandbox,
      Effect.gen(function*() {
        const bwrap = yield* Effect.cached(Effect.tapErrorTag(yield* bubblewrap(options), "SandboxError", tell))
        return {
          confine: (place) =>
            Effect.matchEffect(bwrap, {
              onSuccess: ({ confine }) => confine(place),
              onFailure: () => Effect.succeed([])
            }),
          limits: Effect.match(bwrap, { onSuccess: ({ limits }) => limits, onFailure: () => undefined }),
          watch: (pid) =>
            Effect.matchEffect(bwrap, { onSuccess: ({ watch }) => watch(pid), onFailure: () => Effect.never })
        }
      })
    )

  /** Bubblewrap, and nothing without it. */
  static readonly layerRequired = (options: SandboxOptions): Layer.Layer<Sandbox, SandboxError> =>
    Layer.scoped(
      Sandbox,
      Effect.map(
        Effect.flatten(bubblewrap(options)),
        ({ limits, ...bwrap }) => ({ ...bwrap, limits: Effect.succeed(limits) })
      )
    )
}

const tell = ({ message }: SandboxError) =>
  Effect.logError(`${message} Commands run without it; with "sandbox": "off" in your config this is not said again.`)

const bubblewrap = (options: SandboxOptions) =>
  Effect.map(Effect.scope, (scope) =>
    // Loaded at first use: the program starts without it.
    Effect.flatMap(
      Effect.promise(() => import("./internal/sandbox/bwrap.ts")),
      ({ makeBwrap }) => Effect.provideService(makeBwrap(options), Scope.Scope, scope)
    ))
