/** Carries out a prompt of a client, until nothing of the session runs any more, or until the client cancels it. */
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { Turn } from "@skein/backend/Sessions"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Failure } from "../connection/failure.ts"
import { wireUsage } from "../encode/nested.ts"
import type { Flight, OpenSession } from "./OpenSession.ts"
import { promptOf } from "./promptOf.ts"

/** How long stopping a tree may hold up the answer to a cancelled prompt, in milliseconds. */
const patience = 10_000

/** How often it is tried during a turn whether the client still reads, in milliseconds: a command may say nothing for long. */
const pace = 5_000

const stopReason = ({ end, info }: Turn): StopReason => {
  if (end === "steps") return "max_turn_requests"
  if (info.finish === "length") return "max_tokens"
  return info.finish === "content-filter" ? "refusal" : "end_turn"
}

const isBad = (prompt: ReturnType<typeof promptOf>): prompt is Extract<typeof prompt, { readonly _tag: string }> =>
  "_tag" in prompt

const cancelledResponse: PromptResponse = { stopReason: "cancelled" }

const cancelledExit = Exit.succeed(cancelledResponse)

/** Whether the prompt may be a command at all: only then are the commands looked up. */
const maybeCommand = (blocks: ReadonlyArray<ContentBlock>): boolean => {
  const [first] = blocks
  return first?.type === "text" && /^\s*\/\S/.test(first.text)
}

const commandsFor = (
  { projects }: typeof Backend.Service,
  blocks: ReadonlyArray<ContentBlock>,
  { directory, root }: OpenSession
) =>
  maybeCommand(blocks)
    ? Effect.map(
      projects.of(root).commands(directory),
      ({ broken, items }) => new Set([...broken, ...items].map(({ name }) => name))
    )
    : Effect.succeed(new Set<string>())

/** Prompts, and waits for the turn, and for what the turn has left in the background. */
const work = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>
): Effect.Effect<PromptResponse, Failure> =>
  Effect.gen(function*() {
    const commands = yield* commandsFor(backend, blocks, session)
    const prompt = promptOf(blocks, session.directory, (name) => commands.has(name))
    if (isBad(prompt)) return yield* Effect.fail(prompt)
    const { model, root } = session
    const prompted = yield* session.storing(
      backend.sessions.prompt(root, { ...prompt, ...(model === undefined ? {} : { model }) })
    )
    for (const note of prompted.notes) session.note(note)
    const turn = yield* prompted.turn
    const last = (yield* backend.sessions.rest(root)) ?? turn
    return { stopReason: stopReason(last), usage: wireUsage(turn.usage) }
  })

/** Stops the tree, within a bounded time. */
const stop = ({ sessions }: typeof Backend.Service, { root }: OpenSession): Effect.Effect<void, BackendError> =>
  Effect.asVoid(Effect.timeoutOption(Effect.disconnect(sessions.stop(root, "the user")), patience))

/** What a cancel was stopping is stopped. */
const over = (session: OpenSession, stopped: Deferred.Deferred<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    session.stopping.delete(stopped)
    return Effect.asVoid(Deferred.succeed(stopped, undefined))
  })

/** Carries out a prompt after what was cancelled `before` it; stops its tree if it is cancelled itself. */
const carryOut = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>,
  { cancelled }: Flight,
  before: ReadonlyArray<Deferred.Deferred<void>>
): Effect.Effect<Exit.Exit<PromptResponse, Failure>> =>
  Effect.gen(function*() {
    const working = Effect.zipRight(
      Effect.forEach(before, (stopped) => Deferred.await(stopped), { discard: true }),
      work(backend, session, blocks)
    )
    // A prompt that is not stored yet goes away with this race; one that is stored is stopped after it.
    const ended = yield* Effect.raceFirst(
      Effect.exit(working),
      Effect.as(Deferred.await(cancelled), cancelledExit)
    )
    if (!(yield* Deferred.isDone(cancelled))) return ended
    yield* Effect.catchAll(stop(backend, session), (error) =>
      Effect.logWarning("A cancelled prompt could not be stopped", error.message))
    return cancelledExit
  })

/** Prompts. A prompt that is cancelled has stopped its tree before it answers, and always answers `cancelled`. */
export const prompt = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>
): Effect.Effect<PromptResponse, Failure> =>
  Effect.gen(function*() {
    const flight: Flight = { cancelled: yield* Deferred.make<void>(), over: yield* Deferred.make<void>() }
    const before = [...session.stopping]
    session.flights.add(flight)
    const probing = Effect.forever(Effect.delay(Effect.sync(() => session.probe()), pace))
    const ended = yield* Effect.ensuring(
      Effect.raceFirst(carryOut(backend, session, blocks, flight, before), probing),
      Effect.suspend(() => {
        session.flights.delete(flight)
        return over(session, flight.over)
      })
    )
    yield* Effect.catchAll(session.caughtUp, () => Effect.void)
    // Another front end may have stopped it.
    return yield* Effect.catchTag(ended, "SessionStopped", () => Effect.succeed(cancelledResponse))
  })

/** Cancels what runs in a session: the prompts of this client, else what others have begun. Later prompts wait for it. */
export const cancel = (
  backend: typeof Backend.Service,
  session: OpenSession
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    if (session.flights.size > 0) {
      for (const { cancelled, over: stopped } of session.flights) {
        session.stopping.add(stopped)
        yield* Deferred.succeed(cancelled, undefined)
      }
      return
    }
    const stopped = yield* Deferred.make<void>()
    session.stopping.add(stopped)
    const stopping = Effect.flatMap(
      backend.sessions.get(session.root),
      ({ status }) => status.type === "idle" ? Effect.void : stop(backend, session)
    )
    yield* Effect.ensuring(stopping, over(session, stopped))
  })
