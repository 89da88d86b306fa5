/** Owns programs that run during sessions and talk over their standard streams, such as MCP servers. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Readable, Writable } from "node:stream"
import { shellEnvironment } from "./Environment.ts"
import { type Ended, startTracked } from "./internal/process/childProcess.ts"
import type { Processes } from "./Processes.ts"

/** A program could not be started. */
export class ServerNotStarted extends Schema.TaggedError<ServerNotStarted>()("ServerNotStarted", {
  message: Schema.String
}) {}

/** What to run, and where. */
export interface ServerStart {
  /** The program and its arguments; no shell is involved. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** Absolute. */
  readonly directory: string
  /** The variables that it gets besides the few that programs need; see `baseEnvironment`. */
  readonly environment: Readonly<Record<string, string>>
}

/** A running program. */
export interface ServerProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Completes when the program has ended, and says how, as in `exit code 1`. */
  readonly ended: Effect.Effect<string>
}

/** How long it may take to end once its input is closed. */
const grace = "500 millis"

/** Where programs keep their files. Tools that start servers rely on these variables. */
const places = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]

/** Without these, a program behind a proxy or a private authority reaches nothing. */
const network =
  /^(?:NODE_EXTRA_CA_CERTS|NODE_USE_(?:ENV_PROXY|SYSTEM_CA)|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL)_CA_BUNDLE|(?:HTTPS?|ALL|NO)_PROXY)$/i

/** Whether the URL of a proxy contains a password. */
const hasLogin = (value = ""): boolean => /:\/\/[^/]*@|^[^/]*:[^/]*@/.test(value)

/**
 * The part of this process's environment that such programs get: what every program needs, and nothing that looks like
 * a secret, such as a proxy with a password.
 */
export const baseEnvironment = (
  environment: Readonly<Record<string, string | undefined>>
): Readonly<Record<string, string>> =>
  shellEnvironment(environment, [
    ...places,
    ...Object.keys(environment).filter((name) => network.test(name) && !hasLogin(environment[name]))
  ])

const endOf = ({ code, signal }: Ended): string =>
  signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`

/**
 * Starts a program in its own process group. When the scope closes, its input is closed; after half a second, the whole
 * group is ended.
 */
export const start = (
  processes: Pick<typeof Processes.Service, "track">,
  program: ServerStart
): Effect.Effect<ServerProcess, ServerNotStarted, Scope.Scope> =>
  Effect.gen(function*() {
    // It ends when its input does.
    const tracked = yield* processes.track(undefined, true)
    const { command: [file, ...args] } = program
    const { server } = yield* Effect.acquireRelease(
      Effect.mapError(
        startTracked({ ...program, file, args, tracked }, ({ stderr, stdin, stdout }, ended, group) => {
          // What breaks a stream also ends the process, whose end says why.
          for (const stream of [stdin, stdout, stderr]) stream.on("error", () => {})
          const streams = { stdin, stdout, stderr }
          return {
            group,
            server: { ...streams, ended: Effect.map(Deferred.await(ended), endOf) } satisfies ServerProcess
          }
        }),
        ({ missing, reason }) =>
          new ServerNotStarted({
            message: missing === "program" ? `${reason}; install it, or correct the command` : reason
          })
      ),
      ({ group, server: { ended, stderr, stdin, stdout } }) =>
        Effect.gen(function*() {
          stdin.end()
          yield* Effect.timeoutOption(Effect.interruptible(ended), grace)
          yield* group.stop
          yield* group.kill
          for (const stream of [stdin, stdout, stderr]) stream.destroy()
        })
    )
    return server
  })
