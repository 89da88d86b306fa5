/** What a session knows besides its events. */
import { Backend } from "@skein/backend/Backend"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { Moment } from "../../LiveView.ts"
import type { SessionRequest } from "../../SessionHost.ts"

/** What the person chose for the next prompts; undefined leaves it to the session. */
interface Choice {
  agent: string | undefined
  model: ModelRef | undefined
}

/** Where it works and with what; what is not known yet is absent. */
export interface Facts {
  readonly directory: string
  readonly branch: string | undefined
  /** The server that holds the database; undefined in this process. */
  server: string | undefined
  /** Whether that does not answer at the moment. */
  isAway?: boolean
  mode: Mode
  agent: string | undefined
  model: string | undefined
  /** How many tokens the model takes. */
  context: number | undefined
  commands: ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>
  agents: ReadonlyArray<
    { readonly name: string; readonly description?: string | undefined; readonly isPrimary: boolean }
  >
  files: ReadonlyArray<string> | undefined
  readonly choice: Choice
}

/** The agent that a prompt names: none in the mode plan, because naming one would leave the mode. */
export const chosenAgent = ({ choice, mode }: Facts): string | undefined => mode === "plan" ? undefined : choice.agent

const round = ["plan", "ask", "edits"] as const

/** The mode that is shown. */
export class ShownMode {
  readonly #facts: Facts
  /** How many changes were asked for, and have not ended. */
  #changes = 0
  #stored: Mode

  constructor(facts: Facts) {
    this.#facts = facts
    this.#stored = facts.mode
  }

  /** The mode after the one that is shown. */
  get next(): Mode {
    return round[(round.findIndex((mode) => mode === this.#facts.mode) + 1) % round.length] ?? "ask"
  }

  /** A mode was asked for. */
  ask(mode: Mode): void {
    this.#changes++
    this.#facts.mode = mode
  }

  /** A change has ended. Where it failed, the mode that the session has is shown again. */
  settle(): void {
    this.#changes--
    if (this.#changes === 0) this.#facts.mode = this.#stored
  }

  /** The session has this mode. */
  learn({ agent, mode }: Pick<SessionInfo, "agent" | "mode">): void {
    this.keep(mode ?? (agent === "plan" ? "plan" : "ask"))
  }

  /** The session has this mode, or the next one will have it. */
  keep(mode: Mode): void {
    this.#stored = mode
    if (this.#changes === 0) this.#facts.mode = mode
  }
}

/** What is known before anything is loaded. */
export const factsOf = (
  { agent, branch, directory, mode = "ask", model }: SessionRequest
): Effect.Effect<Facts, never, Backend> =>
  Effect.map(Backend, ({ where }) => ({
    directory,
    branch,
    server: where._tag === "Server" ? where.url : undefined,
    mode,
    agent,
    model: undefined,
    context: undefined,
    commands: [],
    agents: [],
    files: undefined,
    choice: { agent, model }
  }))

/** What tells the time. */
export const momentOf: Effect.Effect<() => Moment> = Effect.clockWith((clock) =>
  Effect.succeed(() => ({
    now: clock.unsafeCurrentTimeMillis(),
    steady: Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
  }))
)
