/** Decides what commands can do, whatever was allowed: they run in bubblewrap if it is available. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt, textOf } from "./internal/disk.ts"
import { SandboxError, type SandboxLimits, type SandboxOptions, type SandboxPlace } from "./SandboxPlace.ts"

/** Confines commands. */
export class Sandbox extends Context.Tag("@skein/tools/Sandbox")<Sandbox, {
  /**
   * The words before a program and its arguments that make it run confined; none if it runs unconfined. They are valid
   * while the scope is open.
   */
  readonly confine: (place: SandboxPlace) => Effect.Effect<ReadonlyArray<string>, SandboxError, Scope.Scope>
  /** How commands are confined here; `undefined` if they are not. */
  readonly limits: Effect.Effect<SandboxLimits | undefined>
  /** Why commands run unconfined although nobody has switched that off; undefined if they do not. */
  readonly fault: Effect.Effect<string | undefined>
  /**
   * Ends when a confined command uses too much of the machine, with a sentence that says what. `pid` is the started process. An
   * unconfined one is bounded by the watchdog alone.
   */
  readonly watch: (pid: number) => Effect.Effect<string>
}>() {
  /** Whether commands can be confined here; fails with the reason if not. */
  static readonly trial = (environment: SandboxOptions["environment"]): Effect.Effect<void, SandboxError> =>
    Effect.flatMap(
      Effect.promise(() => import("./internal/sandbox/bwrapArguments.ts")),
      ({ bwrapTrial }) => Effect.mapError(bwrapTrial({ environment }), ({ why }) => new SandboxError({ message: why }))
    )

  /** Confines nothing. */
  static readonly layerNoop: Layer.Layer<Sandbox> = Layer.succeed(Sandbox, {
    confine: () => Effect.succeed([]),
    limits: Effect.succeed(undefined),
    fault: Effect.succeed(undefined),
    watch: () => Effect.never
  })

  /**
   * Bubblewrap if it is available. Otherwise commands run unconfined, and the first one logs that, once on each
   * machine. If the machine only lacked something for a moment, the command fails instead, and the next one tries again.
   */
  static readonly layer = (options: SandboxOptions): Layer.Layer<Sandbox> =>
    Layer.scoped(
      Sandbox,
      Effect.gen(function*() {
        const [cached, forget] = yield* Effect.cachedInvalidateWithTTL(yield* bubblewrap(options), Duration.infinity)
        const found = Effect.tapError(cached, ({ isTemporary }) => isTemporary === true ? forget : Effect.void)
        const said = yield* Effect.once(Effect.matchEffect(cached, {
          onFailure: (error) => tell(options, error),
          onSuccess: () =>
            Effect.sync(() => attempt(() => NodeFs.rmSync(saidIn(options.dataDirectory), { force: true }), undefined))
        }))
        const bwrap = Effect.tapBoth(found, {
          onFailure: ({ isTemporary }) => isTemporary === true ? Effect.void : said,
          onSuccess: () => said
        })
        return {
          confine: (place) =>
            Effect.matchEffect(bwrap, {
              onSuccess: ({ confine }) => confine(place),
              onFailure: (error) => error.isTemporary === true ? Effect.fail(error) : Effect.succeed([])
            }),
          limits: Effect.match(bwrap, { onSuccess: ({ limits }) => limits, onFailure: () => undefined }),
          // What was lacking for a moment lets no command run unconfined.
          fault: Effect.match(found, {
            onSuccess: () => undefined,
            onFailure: ({ isTemporary, message }) => isTemporary === true ? undefined : message
          }),
          watch: (pid) =>
            Effect.matchEffect(bwrap, {
              onSuccess: ({ watch }) => watch(pid),
              onFailure: () => Effect.never
            })
        }
      })
    )

  /** Bubblewrap, without a fallback. */
  static readonly layerRequired = (options: SandboxOptions): Layer.Layer<Sandbox, SandboxError> =>
    Layer.scoped(
      Sandbox,
      Effect.map(
        Effect.flatten(bubblewrap(options)),
        ({ limits, ...bwrap }) => ({
          ...bwrap,
          limits: Effect.succeed(limits),
          fault: Effect.succeed(undefined)
        })
      )
    )
}

/** Where the last remark about this machine is: a person gets it once, and again after the machine has changed. */
const saidIn = (dataDirectory: string): string => join(dataDirectory, "sandbox-said")

/** Nothing has failed, but the user should know. If the remark cannot be stored, it is made again. */
const tell = ({ dataDirectory }: SandboxOptions, { message }: SandboxError) =>
  Effect.suspend(() => {
    const file = saidIn(dataDirectory)
    if (textOf(file) === message) return Effect.void
    attempt(() => NodeFs.writeFileSync(file, message, { mode: 0o600 }), undefined)
    return Effect.annotateLogs(
      Effect.logWarning(`${message} Commands run without it. You see this once on this machine.`),
      "notice",
      true
    )
  })

const bubblewrap = (options: SandboxOptions) =>
  Effect.map(Effect.scope, (scope) =>
    // Loaded at first use, so that the program starts without it.
    Effect.flatMap(
      Effect.promise(() => Promise.all([import("./internal/sandbox/bwrap.ts"), import("./internal/git/gitNames.ts")])),
      ([{ makeBwrap }, { makeGitNames }]) =>
        Effect.provideService(makeBwrap(options, makeGitNames(options.environment)), Scope.Scope, scope)
    ))
