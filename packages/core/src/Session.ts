/** Owns conversations: creates, prompts and stops them, and returns what was said in them. */

import type { Event, EventProperties } from "@skein/domain/Event"
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part, PartInput } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus, SessionSummary } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentNotFound } from "./Agent.ts"
import { answerOf as answerOfParts } from "./internal/conversation/makePrompt.ts"
import { makeSession } from "./internal/session/makeSession.ts"
import type { ModeRefused } from "./Isolation.ts"
import type { ProjectUnavailable } from "./Projects.ts"
import type { ModelUnavailable } from "./Provider.ts"
import type { Found } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Following, Newest } from "./StorageFilter.ts"
import type { TaskError } from "./TaskError.ts"
import type { ProgramTask } from "./TaskRequest.ts"
import type {
  BudgetExhausted,
  BudgetInvalid,
  ChildOptions,
  CompactionFailed,
  ForkOptions,
  ForkRefused,
  PromptError,
  PromptInvalid,
  PromptOptions,
  SessionNotFound,
  SessionOptions,
  SessionStopped,
  SummaryFailed,
  Turn,
  TurnEvent,
  Withdrawal
} from "./Turn.ts"
import type { Keyed } from "./Write.ts"

export type { ChildOptions, ForkOptions, SessionOptions } from "./Turn.ts"
export type { PromptError, PromptOptions, Turn, TurnEnd, TurnEvent } from "./Turn.ts"

/** The text of an assistant message, as in `Turn.text`. */
export const answerOf = (parts: ReadonlyArray<Part>): string => answerOfParts(parts)

/** Why a conversation was not compacted. */
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
  ) => Effect.Effect<SessionInfo, AgentNotFound | BudgetInvalid | ModeRefused | ProjectUnavailable | StorageError>
  /** Creates a session below another: same project and directory, one level deeper. */
  readonly createChild: (
    parentID: SessionID,
    options: ChildOptions
  ) => Effect.Effect<SessionInfo, SessionNotFound | StorageError>
  readonly get: (id: SessionID) => Effect.Effect<SessionInfo, SessionNotFound | StorageError>
  /** The root sessions, latest change first, and the ids of those that could not be read. */
  readonly list: (filter?: {
    readonly projectID?: string
    readonly limit?: number
  }) => Effect.Effect<Found<SessionInfo>, StorageError>
  /** The sessions directly below one. */
  readonly children: (id: SessionID) => Effect.Effect<ReadonlyArray<SessionInfo>, StorageError>
  /** All messages, in the order of creation. They may be more than memory holds: prefer pages. */
  readonly messages: (
    id: SessionID
  ) => Effect.Effect<ReadonlyArray<MessageWithParts>, SessionNotFound | StorageError>
  /** A page of the messages, in the order of creation; see `SessionStorage.messagePage`. */
  readonly messagePage: (
    id: SessionID,
    page: Following | Newest
  ) => Effect.Effect<
    { readonly rows: ReadonlyArray<MessageWithParts>; readonly next?: MessageID },
    SessionNotFound | StorageError
  >
  /**
   * Stores a message and runs the loop until it is idle. A running loop takes the message at its next step. Ends with
   * the final answer. If every caller that waits for an answer is interrupted, the session stops.
   */
  readonly prompt: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    options?: PromptOptions
  ) => Effect.Effect<Turn, PromptError>
  /** Runs an agent for a program: see `Task.run`, which has its types. */
  readonly task: (task: ProgramTask) => Effect.Effect<unknown, TaskError>
  /** The same as a stream: what happens in the turn, and last how it ended. A reader who leaves stops the turn. */
  readonly stream: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    options?: PromptOptions
  ) => Stream.Stream<TurnEvent, PromptError>
  /**
   * The events of a whole tree: those stored after `after`, then those that happen, without a gap. A stored event has its
   * number in the tree (`seq`), with which you can continue later; 0 is the beginning, where you name none.
   */
  readonly events: (
    id: SessionID,
    from?: { readonly after?: number }
  ) => Stream.Stream<Event, SessionNotFound | StorageError>
  /** Withdraws a prompt that no agent has read yet. Its caller gets `SessionStopped`. */
  readonly withdraw: (
    id: SessionID,
    messageID: MessageID
  ) => Effect.Effect<Withdrawal, SessionNotFound | StorageError>
  /**
   * Waits until a session is idle: neither a turn nor a background task is running. Ends as its last turn ended;
   * returns undefined if it had no turn since it was opened. Fails with reason `held` if another process took over its tree.
   */
  readonly untilIdle: (id: SessionID) => Effect.Effect<Turn | undefined, PromptError>
  /** Stores a message without answering it: the model sees it with the next prompt. */
  readonly append: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>
  ) => Effect.Effect<void, SessionNotFound | PromptInvalid | StorageError>
  /**
   * Resumes what a dead process left of the whole tree of a session: interrupted turns, unsettled tasks, unread
   * prompts. What was stopped stays stopped. Ends when everything is running; `untilIdle` waits for it. Fails with
   * `ModelUnavailable` if a model is missing here with which an open turn began: nothing has changed then. A turn for whose
   * next answer the process has died three times in a row is left alone, unless `anew` says to ask again.
   */
  readonly resume: (
    id: SessionID,
    options?: { readonly anew?: boolean }
  ) => Effect.Effect<void, ModelUnavailable | ProjectUnavailable | SessionNotFound | StorageError>
  /** Does so for every tree with unfinished work; see `Session.resumeAll`. */
  readonly resumeAll: Effect.Effect<ReadonlyArray<SessionID>, StorageError>
  /**
   * Has a model describe the result of a session and everything below it, from a digest of the work. The summary is
   * stored with the session and published as `session.updated`. Interruption closes the request. `receipt` is stored with
   * it.
   */
  readonly summarize: (id: SessionID, receipt?: Keyed) => Effect.Effect<SessionSummary, SummarizeError>
  /**
   * Has a model summarise all but the newest messages, so that less is sent from now on. All messages stay stored, and
   * `messages` returns them. Happens automatically when a conversation nears its model's limit. `receipt` is stored with it.
   */
  readonly compact: (
    id: SessionID,
    receipt?: Keyed
  ) => Effect.Effect<EventProperties<"session.compacted">, CompactError>
  /** Waits until neither the title nor an automatic summary of a session (`summaries` in the config) is being written. */
  readonly summarized: (id: SessionID) => Effect.Effect<void, SessionNotFound | StorageError>
  /**
   * Ends what runs here of the whole tree of a session, without storing an end. Calls that have begun get a second to end.
   * The next prompt or `resume`, in any process, continues it as after a crash, and makes the calls that had not begun.
   * Returns the background runs that are left.
   */
  readonly leave: (id: SessionID) => Effect.Effect<ReadonlyArray<TaskRun>, SessionNotFound | StorageError>
  /**
   * Releases a tree that works here, so that another process can continue it: between two steps, so that no request and no
   * call is interrupted. Returns false, and the tree continues here, if it does not come to rest within `patience`
   * milliseconds, if a person is asked, or if this process has a part in it that no other has.
   */
  readonly handOver: (rootID: SessionID, patience: number) => Effect.Effect<boolean>
  /** Whether that may succeed now: nothing but models and tasks is waited for. */
  readonly isMovable: (rootID: SessionID) => Effect.Effect<boolean>
  /**
   * Stops a session and everything below it, and waits until all of it has ended. `by` names who stops it, such as `the
   * user`, in the outcomes of its tasks.
   */
  readonly stop: (id: SessionID, by?: string) => Effect.Effect<void, SessionNotFound | StorageError>
  readonly status: (id: SessionID) => Effect.Effect<SessionStatus>
  /** The sessions at work in this process, of one tree or of all, with what they do at this moment. */
  readonly atWork: (
    rootID?: SessionID
  ) => ReadonlyArray<{ readonly info: SessionInfo; readonly status: SessionStatus }>
  /**
   * Starts another session with a copy of the conversation, up to and including a message, or to its end if you name
   * none. The copy has the same agent, model, rules and limits, and no usage. Sessions of tasks are not copied: their
   * conclusions are in the conversation, and the copy cannot resume them. A copy of a root is a root; a copy of a
   * task's session has the same parent.
   */
  readonly fork: (
    id: SessionID,
    options?: ForkOptions
  ) => Effect.Effect<SessionInfo, SessionNotFound | ForkRefused | StorageError>
  /**
   * Changes the mode of a session's tree for all later decisions. Open questions that the new mode decides are answered
   * once it has been in effect for two seconds. Returns the root.
   */
  readonly setMode: (
    id: SessionID,
    mode: Mode
  ) => Effect.Effect<SessionInfo, AgentNotFound | ModeRefused | ProjectUnavailable | SessionNotFound | StorageError>
  readonly rename: (id: SessionID, title: string) => Effect.Effect<void, SessionNotFound | StorageError>
  /** Stops and deletes a session with everything below it; its usage stays counted above it. */
  readonly remove: (id: SessionID) => Effect.Effect<void, SessionNotFound | StorageError>
}>() {
  /** Sessions whose loops run in this process. */
  static readonly layer = Layer.scoped(Session, makeSession)

  /** Makes a root session. */
  static readonly create = (options: SessionOptions) => Effect.flatMap(Session, (session) => session.create(options))

  /** Prompts a session and waits for the answer. */
  static readonly prompt = (id: SessionID, prompt: string | ReadonlyArray<PartInput>, options?: PromptOptions) =>
    Effect.flatMap(Session, (session) => session.prompt(id, prompt, options))

  /** Prompts a session, and tells what happens until its answer: `turn.ended` comes last. */
  static readonly stream = (id: SessionID, prompt: string | ReadonlyArray<PartInput>, options?: PromptOptions) =>
    Stream.unwrap(Effect.map(Session, (session) => session.stream(id, prompt, options)))

  /** The events of a whole tree, from any place of its log on. */
  static readonly events = (id: SessionID, from?: { readonly after?: number }) =>
    Stream.unwrap(Effect.map(Session, (session) => session.events(id, from)))

  /**
   * Continues all trees that other processes have left unfinished, and returns their roots. Ends when everything is running;
   * `untilIdle` waits for a tree. One that another process holds, or that cannot be continued here, is left, and logged.
   */
  static readonly resumeAll = Effect.flatMap(Session, (session) => session.resumeAll)

  /**
   * Prompts a session for an answer of a given schema. The model gives it through a tool, and may correct it three
   * times.
   */
  static readonly ask = <A, I>(
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    output: Schema.Schema<A, I>,
    options?: Omit<PromptOptions, "output">
  ) => Effect.map(Session.prompt(id, prompt, { ...options, output }), (turn) => turn.output as A)
}
