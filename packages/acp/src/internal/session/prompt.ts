/** Carries out a prompt of a client, until nothing of the session runs any more, or until the client cancels it. */
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { Turn } from "@skein/backend/Sessions"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Failure } from "../connection/failure.ts"
import { wireUsage } from "../encode/nested.ts"
import type { Flight, OpenSession } from "./OpenSession.ts"
import { promptOf } from "./promptOf.ts"

/** How long stopping a tree may hold up the answer to a cancelled prompt, in milliseconds. */
const patience = 10_000

const stopReason = ({ end, info }: Turn): StopReason => {
  if (end === "steps") return "max_turn_requests"
  if (info.finish === "length") return "max_tokens"
  return info.finish === "content-filter" ? "refusal" : "end_turn"
}

const isBad = (prompt: ReturnType<typeof promptOf>): prompt is Extract<typeof prompt, { readonly _tag: string }> =>
  "_tag" in prompt

/** Whether the prompt may be a command at all: only then are the commands looked up. */
const maybeCommand = (blocks: ReadonlyArray<ContentBlock>): boolean => {
  const [first] = blocks
  return first?.type === "text" && /^\s*\/\S/.test(first.text)
}

const commandsFor = ({ projects }: typeof Backend.Service, blocks: ReadonlyArray<ContentBlock>, directory: string) =>
  maybeCommand(blocks)
    ? Effect.map(
      projects.commands(directory),
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
    const commands = yield* commandsFor(backend, blocks, session.directory)
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

/** Prompts. A prompt that is cancelled has stopped its tree before it answers, and always answers `cancelled`. */
export const prompt = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>
): Effect.Effect<PromptResponse, Failure> =>
  Effect.gen(function*() {
    const flight: Flight = { cancelled: yield* Deferred.make<void>() }
    session.flights.add(flight)
    const cancelled: PromptResponse = { stopReason: "cancelled" }
    const ended = Effect.catchAll(work(backend, session, blocks), (error) =>
      // Another front end has stopped it.
      error._tag === "SessionStopped" ? Effect.succeed(cancelled) : Effect.fail(error))
    // A prompt that is not stored yet goes away with this race; one that is stored is stopped after it.
    const answer = Effect.raceFirst(
      Effect.exit(ended),
      Effect.as(Deferred.await(flight.cancelled), "cancelled" as const)
    )
    const result = yield* Effect.ensuring(answer, Effect.sync(() => session.flights.delete(flight)))
    const isCancelled = result === "cancelled" || (yield* Deferred.isDone(flight.cancelled))
    if (isCancelled) {
      yield* Effect.catchAll(stop(backend, session), (error) =>
        Effect.logWarning("A cancelled prompt could not be stopped", error.message))
    }
    yield* Effect.catchAll(session.caughtUp, () =>
      Effect.void)
    return result === "cancelled" || isCancelled ? cancelled : yield* result
  })

/** Cancels what runs in a session: the prompts of this client, else what others have begun. */
export const cancel = (
  backend: typeof Backend.Service,
  session: OpenSession
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    if (session.flights.size > 0) {
      for (const { cancelled } of session.flights) yield* Deferred.succeed(cancelled, undefined)
      return
    }
    const { status } = yield* backend.sessions.get(session.root)
    if (status.type !== "idle") yield* stop(backend, session)
  })
