/** Decides what a front end can do with sessions. */
import { largestPage, type Page, type Paging } from "@skein/core/Page"
import type { Budget } from "@skein/domain/Budget"
import type { EventProperties } from "@skein/domain/Event"
import { MessageID, type SessionID } from "@skein/domain/Id"
import type { AssistantMessage } from "@skein/domain/Message"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part, PartInput } from "@skein/domain/Part"
import type { SessionInfo, SessionSummary } from "@skein/domain/SessionInfo"
import type { ListedSession, ShownSession } from "@skein/domain/TreeSnapshot"
import type { Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { BackendError } from "./BackendError.ts"

/** What a new session starts from. */
export interface NewSession {
  /** The working directory, absolute, on the machine of the backend. */
  readonly directory: string
  /** By default the default agent of the project. */
  readonly agent?: string
  readonly mode?: Mode
  readonly model?: ModelRef
  readonly title?: string
}

/** A prompt: words, a command or parts, and how to answer it. */
export interface NewPrompt {
  /** Typed words: `@agent` in them asks for that subagent, and `@path` attaches a file. */
  readonly words?: string
  /** A command instead of words. */
  readonly command?: {
    readonly name: string
    readonly arguments?: string | ReadonlyArray<string> | undefined
  }
  /** More text that no person typed, so names in it are only text. It follows the words. */
  readonly text?: string
  /** Further parts, such as files. */
  readonly parts?: ReadonlyArray<PartInput>
  /** The agent from this prompt on. */
  readonly agent?: string
  /** The model from this prompt on. */
  readonly model?: ModelRef
  /** Replaces the session's budget from now on. */
  readonly budget?: Budget
  /** `turn`: a session at work does not read it at its next step, but after its turn. */
  readonly after?: "turn"
  /** The same key prompts once, however often it is sent. */
  readonly key?: string
  /** Denies questions until the turn has ended, or until nothing of the session runs. */
  readonly unattended?: "turn" | "tree"
}

/** A turn that has ended. */
export interface Turn {
  readonly sessionID: SessionID
  /** The last assistant message, with its parts. */
  readonly info: AssistantMessage
  readonly parts: ReadonlyArray<Part>
  readonly text: string
  readonly end: "completed" | "denied" | "steps"
  readonly usage: Usage
}

/** A prompt that is stored. */
export interface Prompted {
  /** The message that it becomes. */
  readonly messageID: MessageID
  /** The names in its words that matched nothing, each as a sentence. */
  readonly notes: ReadonlyArray<string>
  /** Waits for the turn that answers it. If you stop waiting, the turn continues. */
  readonly turn: Effect.Effect<Turn, BackendError>
}

/** The outcome of a withdrawal. */
export type Withdrawal =
  | { readonly status: "withdrawn"; readonly text: string }
  /** An agent has it, or somebody else has withdrawn it. */
  | { readonly status: "gone" }

/** The newest so many at most, of those before a message if you name it: the `next` of the page after it. */
export interface NewestMessages {
  readonly newest: number
  readonly before?: MessageID | undefined
}

/** What ids are looked up among. */
export type Identified = "sessions" | "tasks" | "runs"

/** The sessions. */
export interface Sessions {
  /** Creates a root session. */
  readonly create: (options: NewSession) => Effect.Effect<SessionInfo, BackendError>
  readonly get: (id: SessionID) => Effect.Effect<ShownSession, BackendError>
  /** The root sessions, latest change first. `directory` stands for its project, where the backend is. */
  readonly list: (
    page: Paging & { readonly projectID?: string; readonly directory?: string }
  ) => Effect.Effect<Page<ListedSession>, BackendError>
  /** The ids with this prefix, in order, at most `limit`. */
  readonly ids: (
    of: Identified,
    start: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<string>, BackendError>
  /** The sessions directly below one, oldest first. */
  readonly children: (id: SessionID, page: Paging) => Effect.Effect<Page<ListedSession>, BackendError>
  /** The messages with their parts, oldest first: from the first on, or the newest. */
  readonly messages: (
    id: SessionID,
    page: NewestMessages | Paging
  ) => Effect.Effect<Page<MessageWithParts>, BackendError>
  /** The whole tree of a session as a document that `skein sessions import` reads, piece by piece. */
  readonly archive: (id: SessionID) => Stream.Stream<Uint8Array, BackendError>
  readonly rename: (id: SessionID, title: string) => Effect.Effect<void, BackendError>
  /** Stops and deletes a session and everything below it. */
  readonly remove: (id: SessionID) => Effect.Effect<void, BackendError>
  /** Copies a session, up to and including a message, or to its end. */
  readonly fork: (id: SessionID, messageID?: MessageID) => Effect.Effect<SessionInfo, BackendError>
  /** Has a model shorten a conversation, so that less of it is sent. */
  readonly compact: (id: SessionID) => Effect.Effect<EventProperties<"session.compacted">, BackendError>
  /** Has a model summarise the result of a session. */
  readonly summarize: (id: SessionID) => Effect.Effect<SessionSummary, BackendError>
  /** Changes what a session's tree may do without a question; returns the root. */
  readonly setMode: (id: SessionID, mode: Mode) => Effect.Effect<SessionInfo, BackendError>
  /** Stores a prompt, and returns once it is stored. A running session reads it at its next step. */
  readonly prompt: (id: SessionID, prompt: NewPrompt) => Effect.Effect<Prompted, BackendError>
  /** Withdraws a prompt that no agent has read yet, and returns its text; or returns that the prompt is gone. */
  readonly withdraw: (id: SessionID, messageID: MessageID) => Effect.Effect<Withdrawal, BackendError>
  /** Stops a session and everything below it. `by` names who does, in the outcomes of its tasks. */
  readonly stop: (id: SessionID, by?: string) => Effect.Effect<void, BackendError>
  /** Continues what a crash or a shutdown interrupted in a tree; ends when it runs. */
  readonly resume: (id: SessionID) => Effect.Effect<void, BackendError>
  /**
   * Waits until nothing of a session runs, neither a turn nor a background task. Returns its last turn, or
   * undefined if none has ended.
   */
  readonly rest: (id: SessionID) => Effect.Effect<Turn | undefined, BackendError>
  /** Waits until no title or summary of a session is being written that would be lost with this process. */
  readonly summarized: (id: SessionID) => Effect.Effect<void, BackendError>
  /**
   * Detaches from a session. In this process, running work is interrupted and continues with the next prompt or
   * `resume`; returns the interrupted background runs. On a server, everything continues, and it returns none.
   */
  readonly leave: (id: SessionID) => Effect.Effect<ReadonlyArray<TaskRun>, BackendError>
}

/** Reads a list from its beginning, a page at a time. */
export const eachPage = <A, E, E2 = never, R = never>(
  read: (page: Paging) => Effect.Effect<Page<A>, E>,
  use: (items: ReadonlyArray<A>) => Effect.Effect<void, E2, R>
): Effect.Effect<void, E | E2, R> => {
  const from = (cursor: string | undefined): Effect.Effect<void, E | E2, R> =>
    Effect.flatMap(
      read({ cursor }),
      ({ items, next }) => Effect.zipRight(use(items), next === undefined ? Effect.void : from(next))
    )
  return from(undefined)
}

/** All of a list that memory can hold, or its first so many. */
export const allPages = <A, E>(
  read: (page: Paging) => Effect.Effect<Page<A>, E>,
  most = Infinity
): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.gen(function*() {
    const found: Array<A> = []
    let cursor: string | undefined
    do {
      const page: Page<A> = yield* read({ cursor, limit: Math.min(largestPage, most - found.length) })
      for (const item of page.items) found.push(item)
      cursor = page.next
    } while (cursor !== undefined && found.length < most)
    return found
  })

/** How many messages are read at once to find one that is usually among the newest. */
const few = 20

/** The last message that passes a test; undefined if there is none. Reads back from the newest. */
export const lastMessage = (
  { messages }: Pick<Sessions, "messages">,
  id: SessionID,
  isWanted: (message: MessageWithParts) => boolean
): Effect.Effect<MessageWithParts | undefined, BackendError> => {
  const from = (before: MessageID | undefined): Effect.Effect<MessageWithParts | undefined, BackendError> =>
    Effect.flatMap(messages(id, { newest: few, before }), ({ items, next }) => {
      const found = items.findLast(isWanted)
      return found !== undefined || next === undefined ? Effect.succeed(found) : from(MessageID.make(next))
    })
  return from(undefined)
}
