/** What callers ask of tasks, and what they get back. */
import type { Budget } from "@skein/domain/Budget"
import type { SummaryRow } from "@skein/domain/Event"
import type { MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import type { Usage } from "@skein/domain/Usage"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StorageError } from "./StorageError.ts"
import type { Keyed } from "./Write.ts"

/** The task cannot be started or resumed; nothing was done. The message says what to do instead. */
export class TaskRefused extends Schema.TaggedError<TaskRefused>()("TaskRefused", {
  reason: Schema.Literal(
    "unknown_agent",
    "depth",
    "limit",
    "budget",
    "not_found",
    "parent_not_found",
    "not_a_child",
    "agent_changed",
    "bad_message",
    "settled",
    "isolation",
    "project",
    "bad_model"
  ),
  message: Schema.String
}) {}

/** A schema of answers. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export type AnySchema = Schema.Schema<any, any>

/** How a program asks an agent: at the root of a tree of its own, or below a session. */
export interface AskOptions {
  /** The title of its session; by default the first words of the prompt. */
  readonly description?: string
  /** The model, also as `provider/model`; by default that of the agent or the caller. */
  readonly model?: ModelRef | string
  /** Rules that neither it nor anything below it can exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it. */
  readonly budget?: Budget
  /** The time limit; a number is milliseconds. By default a task below a caller has its agent's, or 30 minutes. */
  readonly timeout?: Duration.DurationInput
  /** The schema of the answer. */
  readonly output?: AnySchema
  /**
   * The calling session, such as a tool's `context.sessionID`. The task is its child and works in the same place.
   */
  readonly parentID?: SessionID
  /** The working directory of a task without a caller; by default that of the process. */
  readonly directory?: string
}

/** What a program asks an agent to do. */
export interface ProgramTask extends AskOptions {
  /** Any agent that is not hidden. */
  readonly agent: string
  /** Its whole prompt. */
  readonly prompt: string
}

/** What a caller wants done. */
export interface TaskRequest {
  /** The calling session; the child session is created below it. */
  readonly parentID: SessionID
  /** The subagent's name. */
  readonly agent: string
  /** 3 to 5 words for people. */
  readonly description: string
  /** The whole prompt of the subagent. */
  readonly prompt: string
  /** The task to resume: a child of the same parent. */
  readonly taskID?: string
  /** The model, instead of the agent's and the caller's. */
  readonly model?: ModelRef
  /** The model of the caller, for agents that name none. */
  readonly callerModel?: ModelRef
  /**
   * The time limit of the run, in milliseconds; by default the agent's own, or 30 minutes. Waiting for a person does
   * not count.
   */
  readonly timeout?: number
  /** Whether to run in the background: the outcome then arrives in the caller's inbox. */
  readonly background?: boolean
  /** Whether to delete the child session once the outcome was read; by default it is kept. */
  readonly cleanup?: "keep" | "delete"
  /** Whether the task is isolated from its caller; by default as the agent's definition says. */
  readonly isolation?: "worktree"
  /**
   * The budget of the run and everything below it, capped by what the caller has left. By default as the agent's
   * definition says.
   */
  readonly budget?: Budget
  /** The tool part of the call that asks. */
  readonly partID?: PartID
  /** More rules that a new child session cannot exceed. */
  readonly permission?: Ruleset
  /** A system prompt for a new child session, instead of its agent's. */
  readonly systemPrompt?: string
  /** The schema of the answer: the outcome's text is then its JSON. By default as the agent's definition says. */
  readonly output?: AnySchema
  /**
   * Whether the run may be promoted to the background; not if a program needs the outcome itself. By default it may.
   */
  readonly promotable?: boolean
  /** Whether a program asks, and not a model: the limits of depth and of tasks a turn are for models. */
  readonly byProgram?: boolean
  /** Whether the user asks, and not a model: then primary agents may be named too. */
  readonly byUser: boolean
}

/** A started run. */
export interface TaskStarted {
  readonly taskID: SessionID
  readonly runID: string
  readonly model: ModelRef | undefined
}

/** What a caller may observe of a run. */
export interface TaskProgress {
  readonly started: (run: TaskStarted) => Effect.Effect<void>
  /** The calls so far, sorted by id; at most ten times a second. */
  readonly summary: (rows: ReadonlyArray<SummaryRow>) => Effect.Effect<void>
  /** Called with the outcome before the run ends, and so also for an interrupted caller, which gets no result. */
  readonly settled: (outcome: Outcome) => Effect.Effect<void>
}

/** A run that continues in the background. */
export interface Accepted {
  readonly status: "accepted"
  readonly taskID: SessionID
  readonly runID: RunID
}

/** How a message to a task is kept. */
export interface MessageOptions {
  /** Stored with the message, for senders who may send it twice: its result is the id of the message, and that of the run that it begins. */
  readonly receipt?: Keyed
  /** Is called once the message is durable. */
  readonly onStored?: (id: MessageID) => void
}

/** Which task is meant, and who asks: only the session that started a task may control it. */
export interface TaskName {
  readonly parentID: SessionID
  readonly taskID: string
  /** Whether the user asks, and not a model: a model may not start runs that only a user may start. */
  readonly byUser?: boolean
}

/** The status of a task. */
export interface TaskStatus {
  readonly taskID: SessionID
  readonly agent: string
  readonly description: string
  readonly state: "queued" | "running" | "settled"
  readonly background: boolean
  /** What it does or waits for, in a few words, or how it ended. */
  readonly doing: string
  /** The time since its newest run was requested, or how long that run took, in milliseconds. */
  readonly elapsedMs: number
  /** The last tool called. */
  readonly lastTool: string | undefined
  /** The usage of the task and everything below it, in all runs. */
  readonly usage: Usage
  /** How its newest run ended. */
  readonly outcome: Outcome | undefined
}

/** Which tasks to wait for, and for how long. */
export interface TaskWait {
  readonly parentID: SessionID
  /** By default all background tasks. */
  readonly taskIDs?: ReadonlyArray<string>
  /** `any`: until one of them has settled; `all` by default. */
  readonly mode?: "all" | "any"
  /** In milliseconds; 10 minutes by default. */
  readonly timeout?: number
}

/** The state at the end of the wait. */
export interface TaskWaited {
  readonly settled: ReadonlyArray<Outcome>
  readonly pending: ReadonlyArray<SessionID>
}

/** A run that was started. */
export interface StartedTask {
  /** Which run it is. */
  readonly accepted: Accepted
  /**
   * Waits for the outcome, or until the run is in the background. Interruption ends a run that is not.
   */
  readonly join: Effect.Effect<Outcome | Accepted, StorageError>
  /** Calls back once `join` need not wait any more, which may be at once. */
  readonly onEnd: (ring: () => void) => void
}
