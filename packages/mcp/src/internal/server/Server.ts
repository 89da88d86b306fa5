/** One server from its first use to the end of its scope: reached in the background, and reached again when it ends. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type Askers, makeAskers } from "../elicit/Askers.ts"
import { type ReadPrompt, readPrompts } from "../listing/readPrompts.ts"
import { type ReadTool, readTools } from "../listing/readTools.ts"
import { ServerFailed } from "../ServerFailed.ts"
import { connect, type Target } from "./connect.ts"
import type { Connection } from "./Connection.ts"
import type { Notice, Notices } from "./notices.ts"

/** The state of a server. */
type ServerState =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Ready"; readonly connection: Connection }
  | { readonly _tag: "Failed"; readonly message: string }

/** A server. */
export interface Server {
  readonly target: Target
  /** The calls that run, through which it can ask. */
  readonly askers: Askers
  readonly state: () => ServerState
  /** Why it could not be used the last time; undefined once it is there. */
  readonly failure: () => string | undefined
  /** Its tools as it last listed them: those of a server that is started again stay. */
  readonly tools: () => ReadonlyArray<ReadTool>
  /** Its prompts as it last listed them. */
  readonly prompts: () => ReadonlyArray<ReadPrompt>
  /** What it said that it has, such as `prompts`: that of a server that is started again stays. */
  readonly offers: () => ReadonlySet<string>
  /**
   * Starts it if nobody has done so yet, and waits until it is there or has failed: no longer than its `startup_timeout`
   * after its start.
   */
  readonly ready: Effect.Effect<void>
}

/** How long the first request of a session waits for a server, in milliseconds. */
const startupTimeout = 5_000

/** How long it is left alone after it failed, in milliseconds: at first, and at most. */
const pause = { shortest: 1_000, longest: 300_000 } as const

/** How long a list is left alone after it was read, in milliseconds, however often it changes. */
const breath = 1_000

/** How long it must have been there for its next failure to count as the first one, in milliseconds. */
const steady = 60_000

/** What a server lists now. One whose prompts cannot be listed still has its tools. */
const listsOf = ({ prompts, tools }: Connection) =>
  Effect.all([Effect.map(tools, readTools), Effect.either(prompts)], { concurrency: 2 })

/**
 * Fails if a script of the server is no longer what it is now. An agent may have changed it: it would run without a
 * sandbox, and nobody has trusted it.
 */
const checkScripts = ({ config, directory, host }: Target): Effect.Effect<void, ServerFailed> => {
  const changed = host.remember(config.command ?? [], directory)
  return Effect.suspend(() => {
    const script = changed()
    return script === undefined ? Effect.void : new ServerFailed({
      message: `${script} is not what it was when the project was opened. Look at it, and start Skein again`
    })
  })
}

/** Starts it, and waits for it no longer than its `startup_timeout`. */
const makeReady = (
  { config, name }: Target,
  needed: Deferred.Deferred<void>,
  settled: Deferred.Deferred<void>,
  tell: Notice["tell"]
): Effect.Effect<void> => {
  let startedAt: number | undefined
  return Effect.gen(function*() {
    if (startedAt === undefined) {
      startedAt = yield* Clock.currentTimeMillis
      yield* Deferred.succeed(needed, undefined)
    }
    const waited = (yield* Clock.currentTimeMillis) - startedAt
    const limit = config.startup_timeout ?? startupTimeout
    const left = limit - waited
    if (left <= 0) return
    const there = yield* Effect.timeoutOption(Deferred.await(settled), Duration.millis(left))
    if (Option.isSome(there)) return
    yield* tell(
      `The MCP server ${name} is not there yet`,
      `it did not answer within ${limit / 1000} s (mcp.${name}.startup_timeout). Its tools come with a later turn`
    )
  })
}

/** Makes a server; it starts with its first use. */
export const makeServer = (target: Target, notices: Notices): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const needed = yield* Deferred.make<void>()
    const settled = yield* Deferred.make<void>()
    const askers = makeAskers()
    const unchanged = checkScripts(target)
    let state: ServerState = { _tag: "Idle" }
    let tools: ReadonlyArray<ReadTool> = []
    let prompts: ReadonlyArray<ReadPrompt> = []
    let failure: string | undefined
    let offers: ReadonlySet<string> = new Set()

    const become = (next: ServerState) =>
      Effect.suspend(() => {
        state = next
        if (next._tag === "Failed") failure = next.message
        if (next._tag === "Ready") failure = undefined
        return next._tag === "Starting" ? Effect.void : Deferred.succeed(settled, undefined)
      })

    const { say, tell } = notices.of(target)

    const refresh = Effect.fnUntraced(function*(connection: Connection) {
      const [found, listed] = yield* listsOf(connection)
      tools = found.tools
      if (Either.isRight(listed)) prompts = readPrompts(listed.right)
      else yield* say(`The MCP server ${target.name}`, `its prompts cannot be listed: ${listed.left.message}`)
      offers = new Set(Object.keys(connection.client.getServerCapabilities() ?? {}))
      yield* become({ _tag: "Ready", connection })
      const tellNote = found.tools.length === 0 ? tell : say
      for (const note of found.notes) yield* tellNote(`The MCP server ${target.name}`, note)
    })

    /** Runs while the server is connected. Fails with the reason why it no longer is. */
    const live = Effect.scoped(Effect.gen(function*() {
      yield* become({ _tag: "Starting" })
      yield* unchanged
      const connection = yield* connect({ ...target, elicit: askers.elicit })
      yield* refresh(connection)
      return yield* Effect.raceFirst(
        Effect.flatMap(connection.ended, (message) => new ServerFailed({ message })),
        Effect.forever(Effect.zipRight(connection.changed, Effect.zipLeft(refresh(connection), Effect.sleep(breath))))
      )
    }))

    const again = (failures: number): Effect.Effect<never> =>
      Effect.gen(function*() {
        const began = yield* Clock.currentTimeMillis
        // In a fiber of its own: Effect forgets an interruption that arrives while a finalizer waits, and would go on here.
        const { message } = yield* Effect.flip(Effect.raceFirst(live, Effect.never))
        const wasSteady = (yield* Clock.currentTimeMillis) - began >= steady
        const count = wasSteady ? 0 : failures
        // First, so that it is said before the waiting turn continues.
        yield* tell(`The MCP server ${target.name} cannot be used`, message)
        yield* become({ _tag: "Failed", message })
        yield* Effect.sleep(Math.min(pause.shortest * 2 ** count, pause.longest))
        return yield* again(count + 1)
      })

    // Forked here and not by who needs it first: it outlives that session, and everything that the session runs with.
    yield* Effect.forkIn(Effect.interruptible(Effect.zipRight(Deferred.await(needed), again(0))), scope)

    const ready = makeReady(target, needed, settled, tell)

    return {
      target,
      askers,
      state: () => state,
      failure: () => failure,
      tools: () => tools,
      prompts: () => prompts,
      offers: () => offers,
      ready
    }
  })
