/** What is held in memory of a session while it is in use. */
import type { MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import { add, type Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import type { Slot } from "../../Governor.ts"
import type { Entry } from "../../JournalEntry.ts"
import type { PromptMessage } from "../../Provider.ts"
import type { PromptError, Turn } from "../../Session.ts"
import { StorageError } from "../../StorageError.ts"
import { spend } from "../budget/account.ts"
import type { Held } from "../budget/held.ts"
import type { Waiter } from "../budget/requests.ts"
import { type Reservation, usePromise } from "../budget/reservations.ts"
import type { Measure } from "../conversation/requestSize.ts"
import type { Wanted } from "../conversation/structuredOutput.ts"
import type { RunningTask } from "./runningTask.ts"

/** A message in memory; `prompt` is what it is for a model, until a part of it changes. */
export interface LiveMessage {
  info: Message
  readonly parts: Array<Part>
  prompt: ReadonlyArray<PromptMessage> | undefined
}

/** The run of a session's loop. */
export interface Running {
  readonly fiber: Deferred.Deferred<Fiber.RuntimeFiber<void>>
  /** Who waits for the answer to a prompt, by the id of its message. */
  readonly waiters: Map<MessageID, Deferred.Deferred<Turn, PromptError>>
  /** Whether it was told to stop: who comes now waits for its end, and for a run of its own. */
  halted: boolean
}

/** A session in memory. Only the functions of this folder change it. */
export interface Live {
  info: SessionInfo
  /** The time for durations and deadlines, in milliseconds (`MonotonicClock.elapsed`): the numbers of `person`, `work` and `active` are of it. */
  readonly elapsed: () => number
  readonly parent: Live | undefined
  /** Ends with the parent's; what runs for the session runs in it. */
  readonly scope: Scope.CloseableScope
  /** Ceilings from above as they were when the running task began: for it they only narrow. */
  captured: ReadonlyArray<Ruleset>
  /** Undefined until they are needed. */
  messages: Array<LiveMessage> | undefined
  /** What is stored for the session and not yet part of a turn, oldest first. */
  readonly inbox: Array<InboxRow>
  running: Running | undefined
  status: SessionStatus
  slot: Slot
  /** Counts the model requests of this session since it was opened. */
  steps: number
  /** Runs of this session as a task, one after the other: the first has its turn, the others wait for theirs. */
  readonly line: Array<RunningTask>
  /** How many questions of it and of all below wait for a person, since when, and how long earlier ones did (ms). */
  readonly person: { waiting: number; since: number; total: number }
  /** What goes on beside the loop, such as asking for a title; halting the session ends it. */
  readonly beside: Set<Fiber.Fiber<unknown, unknown>>
  /** Renews the summary after the last turn that changed files. */
  renewal: Fiber.Fiber<void> | undefined
  /** How many calls have changed files since a summary was last begun, at all levels; counted at the root. */
  changed: number
  /** Calls that are stored as running and of which nothing has happened: what this process has not begun, it knows. */
  readonly unbegun: Set<PartID>
  /** Counts how often it was stopped by somebody, or from above: runs that were asked for before do not begin after. */
  stops: number
  /** Counts how often it was halted, for whatever reason: results of tasks from before are kept for later, and wake nobody. */
  halts: number
  /** How many turns of it and of all below are under way; since when, and after what wait for people, that is not yet counted (ms). */
  readonly work: { turns: number; since: number; waited: number }
  /** What its tasks were promised. */
  readonly reservations: Set<Reservation>
  /** What is held of its budget by those tasks, and by requests under way. */
  readonly held: Held
  /** What the run of it as a task was promised that is under way. */
  promise: Reservation | undefined
  /** Requests that wait for budget, at all levels, the first one first; kept at the root. */
  readonly waiters: Set<Waiter>
  /** Whether its loop waits for budget. */
  waitsForBudget: boolean
  /** How many calls of its step have not ended, and how many of those only wait for tasks or people. */
  readonly calls: { open: number; waiting: number }
  /** At how many tokens a budget cut off its last answer; 0 where none did. */
  cutAt: number
  /** How many tokens each model counts for what was estimated as one; known at the root. */
  readonly rates: Map<string, number>
  /** What its model was told of budgets that come to their end. */
  readonly warned: Set<string>
  /** The tasks that this session started and that have not settled. */
  readonly tasks: Set<RunningTask>
  /** How its last turn ended. */
  lastTurn: Exit.Exit<Turn, PromptError> | undefined
  /** When a model or a tool last gave a sign of life, or something that stops this clock ended (ms). */
  active: number
  /** Whether it was asked to come to an end: its next step is the last, and has no tools. */
  concluding: boolean
  /** Whether the next turn goes on with one that a crash cut off. */
  resumes: boolean
  /** Whether what a crash has left in the tree goes on, or is not there; known at the root. */
  recovered: boolean
  /** Whether it is being removed: nobody finds it any more, nor what is below it. */
  removing: boolean
  /** How many runs of it as a task are just being asked for: it is kept for them. */
  claims: number
  /** Tasks whose sessions are removed once the outcome of a run was read. */
  readonly disposable: Map<RunID, SessionID>
  /** Open once a model has taken a request of this session: what is less urgent goes after that. */
  readonly connected: Effect.Latch
  /** Answers of a given form that prompts in the inbox or in this turn ask for, by the id of their message. */
  readonly wanted: Map<MessageID, Wanted>
  /** The form of the answers of all turns of the run of a task that is under way, where its caller asks for one. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
  form: Schema.Schema<any, any> | undefined
  /** The span of the prompt that its loop was last started for: what news begins later stands under it. */
  span: Tracer.AnySpan | undefined
  /** Subagents that the user named in this turn: asking for them again is not needed. */
  readonly consents: Set<string>
  /** Tasks that this turn has started, at all levels; counted at the root. */
  spawns: number
  /** What its last request measured, from where on it was sent with all outputs, and its tokens when it was last shortened. */
  readonly sent: { measured: Measure | undefined; wholeFrom: MessageID | undefined; floor: number }
}

/** Whether a session, or one above it, is being removed. */
export const isLeaving = ({ parent, removing }: Live): boolean =>
  removing || (parent !== undefined && isLeaving(parent))

/** Whether something that waits makes a session work; a note goes along with what does. */
export const wantsAnswer = (row: InboxRow): boolean => row.kind !== "note"

/** Whether a turn ended because something could not be stored. */
export const failedToStore = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit) && Chunk.some(Cause.failures(exit.cause), (error) => error._tag === "StorageError")

/** Whether something ended because its database was removed or replaced. */
export const isGone = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit)
  && Chunk.some(Cause.failures(exit.cause), (error) => error instanceof StorageError && error.reason === "gone")

/** The session at the top. */
export const rootOf = (live: Live): Live => live.parent === undefined ? live : rootOf(live.parent)

/** The names of the agents from the root to this session. */
export const pathOf = (live: Live): ReadonlyArray<string> =>
  live.parent === undefined ? [live.info.agent] : [...pathOf(live.parent), live.info.agent]

/** The ids of the sessions above, nearest first. */
export const ancestorsOf = (live: Live): ReadonlyArray<SessionID> =>
  live.parent === undefined ? [] : [live.parent.info.id, ...ancestorsOf(live.parent)]

/** Changes a session's data; gives the change to be stored. */
export const change = (live: Live, now: number, patch: Partial<SessionInfo>): Entry => {
  live.info = { ...live.info, ...patch, time: { ...live.info.time, updated: now } }
  return { _tag: "Session", info: live.info }
}

/** Takes a session's budget away; to be stored with the next change. */
export const withoutBudget = (live: Live): void => {
  const { budget: _, ...info } = live.info
  live.info = info
}

/** Counts what a session used, for it and for everything above it; gives the changes to be stored. */
export const charge = (live: Live, used: Usage, now: number): ReadonlyArray<Entry> => {
  const { own, subtree } = live.info.usage
  const sum = { own: add(own, used), subtree: add(subtree, used) }
  const writes = [change(live, now, { usage: sum, ...spend(live, used) })]
  for (let above = live.parent; above !== undefined; above = above.parent) {
    const { usage } = above.info
    const all = { own: usage.own, subtree: add(usage.subtree, used) }
    writes.push(change(above, now, { usage: all, ...spend(above, used) }))
  }
  for (let each: Live | undefined = live; each !== undefined; each = each.parent) usePromise(each)
  return writes
}

/** Puts a message at the end of the history, or in the place of itself. */
export const putMessage = (live: Live, info: Message): LiveMessage => {
  const messages = live.messages ??= []
  const last = messages.findLast((message) => message.info.id === info.id)
  if (last !== undefined) {
    last.info = info
    return last
  }
  const message: LiveMessage = { info, parts: [], prompt: undefined }
  messages.push(message)
  return message
}

/** Puts a part where its id belongs, as storage does, or in the place of itself. A new try writes over the parts of an old one. */
export const putPart = (message: LiveMessage, part: Part): void => {
  message.prompt = undefined
  const before = message.parts.findLastIndex((each) => each.id <= part.id)
  if (message.parts[before]?.id === part.id) message.parts[before] = part
  else message.parts.splice(before + 1, 0, part)
}

/** A message for whoever is outside. */
export const snapshot = (message: LiveMessage): MessageWithParts => ({ info: message.info, parts: [...message.parts] })

/** Marks that a question begins or ends to wait for a person: the clocks of the session and of all above stand still. */
export const personAnswers = (live: Live, began: boolean): void => {
  const now = live.elapsed()
  for (let each: Live | undefined = live; each !== undefined; each = each.parent) {
    const { person } = each
    if (began) {
      if (person.waiting++ === 0) person.since = now
    } else if (--person.waiting === 0) person.total += now - person.since
    each.active = now
  }
}

/** How long a session has waited for people so far, in milliseconds. */
export const waitedForPeople = ({ elapsed, person }: Pick<Live, "elapsed" | "person">): number =>
  person.total + (person.waiting > 0 ? elapsed() - person.since : 0)
