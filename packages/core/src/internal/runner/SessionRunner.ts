/** Owns the work of sessions: stores prompts and answers them, starts and stops loops, and waits until nothing runs. */
import type { PartInput } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StorageError } from "../../StorageError.ts"
import type { PromptError, PromptOptions, Turn } from "../../Turn.ts"
import { halt, stop } from "../live/halt.ts"
import type { Live } from "../live/Live.ts"
import { servicesForLater } from "../traced.ts"
import { atRest, continueTurn, type LoopServices, wake } from "./runner.ts"
import { addNote, submitPrompt } from "./submitPrompt.ts"

/** The work of sessions in memory whose tree is held. Callers need no services. */
export class SessionRunner extends Context.Tag("@skein/core/internal/runner/SessionRunner")<SessionRunner, {
  /**
   * Stores a prompt and waits for its answer. If the session was stopped since its stop count was `stops`, the prompt
   * becomes a note.
   */
  readonly submit: (
    live: Live,
    parts: ReadonlyArray<PartInput>,
    options: PromptOptions,
    stops: number
  ) => Effect.Effect<Turn, PromptError>
  /** Stores a message without answering it. */
  readonly note: (live: Live, parts: ReadonlyArray<PartInput>) => Effect.Effect<void, StorageError>
  /** Starts the loop if the inbox needs an answer; a running loop checks the inbox itself. */
  readonly wake: (live: Live) => Effect.Effect<void>
  /** Continues what a crash left of a session: the interrupted turn, and unread messages. */
  readonly resume: (live: Live) => Effect.Effect<void>
  /** Waits until the session is idle: no turn and no background task is running. */
  readonly rest: (live: Live) => Effect.Effect<void>
  /** Stops a session and everything below it. */
  readonly halt: (live: Live) => Effect.Effect<void>
  /** Stops a session and everything below it, and keeps earlier requests that have not begun from beginning. */
  readonly stop: (live: Live, by?: string) => Effect.Effect<void>
}>() {
  /** Runs loops as fibers of this process. */
  static readonly layer = Layer.effect(
    SessionRunner,
    Effect.map(servicesForLater<LoopServices>(), (context) => ({
      submit: (live, parts, options, stops) => Effect.provide(submitPrompt(live, parts, options, stops), context),
      note: (live, parts) => Effect.provide(addNote(live, parts), context),
      wake: (live) => Effect.provide(wake(live), context),
      resume: (live) => Effect.provide(continueTurn(live), context),
      rest: atRest,
      halt: (live) => Effect.provide(halt(live), context),
      stop: (live, by) => Effect.provide(stop(live, by), context)
    }))
  )
}
