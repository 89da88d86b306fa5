/** One server from its first use to the end of its scope: reached in the background, and reached again when it ends. */
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { connect, type Connection, type Target } from "./connect.ts"
import { cleanText } from "./content.ts"
import { type Askers, makeAskers } from "./elicit.ts"
import { ServerFailed } from "./failure.ts"
import { type ReadPrompt, readPrompts, type ReadTool, readTools } from "./listing.ts"

/** Says something of one server. */
interface Notice {
  /** To the log. */
  readonly say: (message: string, what: string) => Effect.Effect<void>
  /** To people too: why its tools are not there. */
  readonly tell: (message: string, what: string) => Effect.Effect<void>
}

/** What people know about all servers. */
interface Notices {
  readonly of: (server: Pick<Target, "directory" | "name">) => Notice
}

/** Makes it, for a process. */
export const makeNotices = (): Notices => {
  const said = new Set<string>()
  return {
    of: ({ directory, name }) => {
      const say = (message: string, what: string) =>
        Effect.annotateLogs(Effect.logWarning(message, what), { directory })
      return {
        say,
        tell: (message, what) =>
          Effect.suspend(() => {
            // Last words may contain the time or the id of a process, and are the same cause all the same.
            const cause = JSON.stringify([name, directory, message, what.replaceAll(/\d+/g, "0")])
            if (said.has(cause)) return say(message, what)
            said.add(cause)
            return Effect.annotateLogs(say(message, `${what}.`), { notice: true })
          })
      }
    }
  }
}

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
  /** What it says about the use of its tools; empty if nothing. */
  readonly instructions: () => string
  /** What it said that it has, such as `prompts`: that of a server that is started again stays. */
  readonly offers: () => ReadonlySet<string>
  /**
   * Starts it if nobody has done so yet, and waits until it is there or has failed: no longer than its `startup_timeout`
   * after its start.
   */
  readonly ready: Effect.Effect<void>
  /** The same for its prompts. */
  readonly prompted: Effect.Effect<void>
}

/** How long the first request of a session waits for a server, in milliseconds. */
const startupTimeout = 5_000

/** How long it is left alone after it failed, in milliseconds: at first, and at most. */
const pause = { shortest: 1_000, longest: 300_000 } as const

/** How long a list is left alone after it was read, in milliseconds, however often it changes. */
const breath = 1_000

/** How long it must have been there for its next failure to count as the first one, in milliseconds. */
const steady = 60_000

/**
 * Fails if a script of the server is no longer what it is now. An agent may have changed it: it would run without a
 * sandbox, and nobody has trusted it.
 */
const checkScripts = ({ config, directory, host }: Target): Effect.Effect<void, ServerFailed> => {
  const changed = host.remember(config.command ?? [], directory)
  return Effect.suspend(() => {
    const script = changed()
    return script === undefined ? Effect.void : new ServerFailed({
      message: `${script} has changed since the project was opened. Review it, and start Skein again`
    })
  })
}

/** Starts it with the first wait, and waits no longer than its `startup_timeout` after that. Tells whether it came. */
const makeWait = ({ config }: Target, needed: Deferred.Deferred<void>) => {
  const limit = config.startup_timeout ?? startupTimeout
  let startedAt: number | undefined
  const waitFor = (there: Deferred.Deferred<void>): Effect.Effect<boolean> =>
    Effect.gen(function*() {
      if (startedAt === undefined) {
        startedAt = yield* MonotonicClock.now
        yield* Deferred.succeed(needed, undefined)
      }
      const left = limit - ((yield* MonotonicClock.now) - startedAt)
      if (left <= 0) return true
      return Option.isSome(yield* Effect.timeoutOption(Deferred.await(there), Duration.millis(left)))
    })
  return { limit, waitFor }
}

/** Makes a server; it starts with its first use. */
export const makeServer = (target: Target, notices: Notices): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const needed = yield* Deferred.make<void>()
    const settled = yield* Deferred.make<void>()
    const prompted = yield* Deferred.make<void>()
    const askers = makeAskers()
    const unchanged = checkScripts(target)
    let state: ServerState = { _tag: "Idle" }
    let tools: ReadonlyArray<ReadTool> = []
    let prompts: ReadonlyArray<ReadPrompt> = []
    let instructions = ""
    let failure: string | undefined
    let offers: ReadonlySet<string> = new Set()

    const become = (next: ServerState) =>
      Effect.suspend(() => {
        state = next
        if (next._tag === "Failed") failure = next.message
        if (next._tag === "Ready") failure = undefined
        if (next._tag === "Starting") return Effect.void
        // Without the server, there are no prompts to wait for.
        const now = Deferred.succeed(settled, undefined)
        return next._tag === "Failed" ? Effect.zipRight(now, Deferred.succeed(prompted, undefined)) : now
      })

    const { say, tell } = notices.of(target)

    const readList = Effect.fnUntraced(function*(connection: Connection) {
      const found = readTools(yield* connection.tools)
      tools = found.tools
      offers = new Set(Object.keys(connection.client.getServerCapabilities() ?? {}))
      instructions = cleanText(connection.client.getInstructions() ?? "").trim()
      yield* become({ _tag: "Ready", connection })
      const tellNote = found.tools.length === 0 ? tell : say
      for (const note of found.notes) yield* tellNote(`The MCP server ${target.name}`, note)
    })

    /** One whose prompts cannot be listed still has its tools. */
    const readItsPrompts = Effect.fnUntraced(function*({ leftOut, prompts: listed }: Connection) {
      const read = yield* Effect.either(listed)
      if (Either.isRight(read)) prompts = readPrompts(read.right)
      yield* Deferred.succeed(prompted, undefined)
      const notes = Either.isRight(read)
        ? leftOut("prompts/list")
        : [`its prompts cannot be listed: ${read.left.message}`]
      for (const note of notes) yield* say(`The MCP server ${target.name}`, note)
    })

    /** Runs while the server is connected. Fails with the reason why it no longer is. */
    const live = Effect.scoped(Effect.gen(function*() {
      yield* become({ _tag: "Starting" })
      yield* unchanged
      const connection = yield* connect({ ...target, elicit: askers.elicit })
      const { changed } = connection
      const whenever = <E>(change: Effect.Effect<void>, read: Effect.Effect<void, E>) =>
        Effect.forever(Effect.zipRight(change, Effect.zipLeft(read, Effect.sleep(breath))))
      // Beside the tools: slow prompts keep nobody waiting for them.
      const ofPrompts = readItsPrompts(connection)
      yield* Effect.forkScoped(Effect.zipRight(ofPrompts, whenever(changed.prompts, ofPrompts)))
      yield* readList(connection)
      return yield* Effect.raceFirst(
        Effect.flatMap(connection.ended, (message) => new ServerFailed({ message })),
        whenever(changed.tools, readList(connection))
      )
    }))

    const again = (failures: number): Effect.Effect<never> =>
      Effect.gen(function*() {
        const began = yield* MonotonicClock.now
        // In a fiber of its own: Effect forgets an interruption that arrives while a finalizer waits, and would go on here.
        const { message } = yield* Effect.flip(Effect.raceFirst(live, Effect.never))
        const wasSteady = (yield* MonotonicClock.now) - began >= steady
        const count = wasSteady ? 0 : failures
        // First, so that it is said before the waiting turn continues.
        yield* tell(`The MCP server ${target.name} cannot be used`, message)
        yield* become({ _tag: "Failed", message })
        yield* Effect.sleep(Math.min(pause.shortest * 2 ** count, pause.longest))
        return yield* again(count + 1)
      })

    // Forked here and not by who needs it first: it outlives that session, and everything that the session runs with.
    yield* Effect.forkIn(Effect.interruptible(Effect.zipRight(Deferred.await(needed), again(0))), scope)

    const { limit, waitFor } = makeWait(target, needed)
    const late = tell(
      `The MCP server ${target.name} is not there yet`,
      `it did not answer within ${
        limit / 1000
      } s (mcp.${target.name}.startup_timeout). Its tools come with a later turn`
    )
    const ready = Effect.flatMap(waitFor(settled), (isInTime) => isInTime ? Effect.void : late)

    return {
      target,
      askers,
      state: () => state,
      failure: () => failure,
      tools: () => tools,
      prompts: () => prompts,
      instructions: () => instructions,
      offers: () => offers,
      ready,
      prompted: Effect.asVoid(waitFor(prompted))
    }
  })
