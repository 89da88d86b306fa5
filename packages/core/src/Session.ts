/** Owns the conversations: makes them, prompts them, stops them, and tells what was said in them. */

import type { EventProperties } from "@skein/domain/Event"
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part, PartInput } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus, SessionSummary } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { AgentNotFound } from "./Agent.ts"
import { answerOf as answerOfParts } from "./internal/conversation/makePrompt.ts"
import { makeSession } from "./internal/session/makeSession.ts"
import type { ProjectUnavailable } from "./Project.ts"
import type {
  BudgetExhausted,
  BudgetInvalid,
  CompactionFailed,
  ForkRefused,
  PromptInvalid,
  SessionNotFound,
  SessionStopped,
  SummaryFailed
} from "./SessionError.ts"
import type { ChildOptions, SessionOptions } from "./SessionOptions.ts"
import type { Found } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { PromptError, PromptOptions, Turn } from "./Turn.ts"

export type { ChildOptions, SessionOptions } from "./SessionOptions.ts"
export type { PromptError, PromptOptions, Turn, TurnEnd } from "./Turn.ts"

/** What an assistant message says, as `Turn.text` has it. */
export const answerOf = (parts: ReadonlyArray<Part>): string => answerOfParts(parts)

/** Why a conversation was not made shorter. */
export type CompactError =
  | BudgetExhausted
  | CompactionFailed
  | ProjectUnavailable
  | SessionNotFound
  | SessionStopped
  | StorageError

/** Why a session has no new summary. */
export type SummarizeError =
  | BudgetExhausted
  | ProjectUnavailable
  | SessionNotFound
  | SessionStopped
  | SummaryFailed
  | StorageError

/** The conversations. */
export class Session extends Context.Tag("@skein/core/Session")<Session, {
  /** Makes a root session. */
  readonly create: (
    options: SessionOptions
  ) => Effect.Effect<SessionInfo, AgentNotFound | BudgetInvalid | ProjectUnavailable | StorageError>
  /** Makes a session below another: same project and directory, one level deeper. */
  readonly createChild: (
    parentID: SessionID,
    options: ChildOptions
  ) => Effect.Effect<SessionInfo, SessionNotFound | StorageError>
  readonly get: (id: SessionID) => Effect.Effect<SessionInfo, SessionNotFound | StorageError>
  /** The sessions at the roots, newest change first, and the ids of those that could not be read. */
  readonly list: (filter?: {
    readonly projectID?: string
    readonly limit?: number
  }) => Effect.Effect<Found<SessionInfo>, StorageError>
  /** The sessions directly below one. */
  readonly children: (id: SessionID) => Effect.Effect<ReadonlyArray<SessionInfo>, StorageError>
  readonly messages: (id: SessionID) => Effect.Effect<ReadonlyArray<MessageWithParts>, SessionNotFound | StorageError>
  /**
   * Stores a message and runs the loop until it is idle; where it is running already, the message is taken at the next
   * step. Ends with the final answer. Interrupting the last one that waits for an answer stops the session.
   */
  readonly prompt: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    options?: PromptOptions
  ) => Effect.Effect<Turn, PromptError>
  /**
   * Ends when nothing of a session goes on any more, neither a turn nor a task in the background, as its last turn ended;
   * undefined where there was none since the session was opened.
   */
  readonly untilIdle: (id: SessionID) => Effect.Effect<Turn | undefined, PromptError>
  /** Stores a message without answering it: the next prompt is answered with it in mind. */
  readonly append: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>
  ) => Effect.Effect<void, SessionNotFound | PromptInvalid | StorageError>
  /**
   * Goes on with what a process that is no more has left of a session and of the whole tree that it is in: turns that were
   * cut off, tasks that had not settled, prompts that nobody had read. What was stopped stays stopped. Ends when all of it
   * is under way; `untilIdle` waits for it.
   */
  readonly resume: (
    id: SessionID
  ) => Effect.Effect<void, ProjectUnavailable | SessionNotFound | StorageError>
  /**
   * Has a model describe what became of a session and everything below it, from a digest of what was done. The summary is
   * kept on the session and told as `session.updated`. Interruption closes the request.
   */
  readonly summarize: (id: SessionID) => Effect.Effect<SessionSummary, SummarizeError>
  /**
   * Has a model summarise what was said before the newest messages, so that less is sent from now on. All that was said
   * stays stored and is told by `messages`. It is done by itself where a conversation comes near to what its model reads.
   */
  readonly compact: (id: SessionID) => Effect.Effect<EventProperties<"session.compacted">, CompactError>
  /** Ends when the summary of a session, which `summaries` of the config asks for, is not being renewed any more. */
  readonly summarized: (id: SessionID) => Effect.Effect<void, SessionNotFound | StorageError>
  /**
   * Ends what runs here of the whole tree that a session is in, and stores nothing of that: the next prompt or `resume`, in
   * any process, continues it as after a crash. Gives the runs in the background that are left.
   */
  readonly leave: (id: SessionID) => Effect.Effect<ReadonlyArray<TaskRun>, SessionNotFound | StorageError>
  /** Stops a session and everything below it, and ends when nothing of it runs any more. */
  readonly stop: (id: SessionID) => Effect.Effect<void, SessionNotFound | StorageError>
  readonly status: (id: SessionID) => Effect.Effect<SessionStatus>
  /**
   * Begins another session with a copy of what was said in this one, up to and including a message; to its end where none is
   * named. It has the same agent, model, rules and limits, and has used nothing. Sessions of tasks are not copied: what they
   * came to stands in the conversation, and none of them can be resumed from the copy. The copy stands beside the
   * original: that of a root is a root, that of a task's session is below the same parent.
   */
  readonly fork: (
    id: SessionID,
    options?: { readonly messageID?: MessageID }
  ) => Effect.Effect<SessionInfo, SessionNotFound | ForkRefused | StorageError>
  readonly rename: (id: SessionID, title: string) => Effect.Effect<void, SessionNotFound | StorageError>
  /** Stops and removes a session with everything below it; what it used stays counted above it. */
  readonly remove: (id: SessionID) => Effect.Effect<void, SessionNotFound | StorageError>
}>() {
  /** Sessions whose loops run in this process. */
  static readonly layer = Layer.scoped(Session, makeSession)

  /** Makes a root session. */
  static readonly create = (options: SessionOptions) => Effect.flatMap(Session, (session) => session.create(options))

  /** Prompts a session and waits for the answer. */
  static readonly prompt = (id: SessionID, prompt: string | ReadonlyArray<PartInput>, options?: PromptOptions) =>
    Effect.flatMap(Session, (session) => session.prompt(id, prompt, options))

  /** Prompts a session for an answer of a given form: the model gives it through a tool, and may mend it three times. */
  static readonly ask = <A, I>(
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    output: Schema.Schema<A, I>,
    options?: Omit<PromptOptions, "output">
  ) => Effect.map(Session.prompt(id, prompt, { ...options, output }), (turn) => turn.output as A)
}
