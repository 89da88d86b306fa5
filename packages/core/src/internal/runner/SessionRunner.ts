/** Owns the work of sessions: stores prompts and answers them, starts and stops loops, and waits until nothing runs. */
import { Ids, type MessageID } from "@skein/domain/Id"
import { type InboxRow, isPersonPrompt, textOfRow } from "@skein/domain/InboxRow"
import { mostParts, type PartInput } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { failpoint } from "../../Failpoints.ts"
import { Journal } from "../../Journal.ts"
import type { StorageError } from "../../StorageError.ts"
import {
  type PromptError,
  PromptInvalid,
  type PromptOptions,
  SessionStopped,
  type Turn,
  type Withdrawal
} from "../../Turn.ts"
import { grantWaiting } from "../budget/requests.ts"
import { forgoPromise, opened } from "../budget/reservations.ts"
import { inboxChanged, noLongerWaiting } from "../live/Inbox.ts"
import { type Live, sessionAttributes, startSideFiber, usageAttributes } from "../live/Live.ts"
import { inProject, SessionTable } from "../live/SessionTable.ts"
import { halt, stop } from "../live/stop.ts"
import { firstWords, makeTitle, untitled } from "../summary/makeSummary.ts"
import { wellFormed } from "../text.ts"
import { servicesForLater, traced } from "../traced.ts"
import { atRest, continueTurn, type LoopServices, submit, wake, withdrawn } from "./runner.ts"

const gone: Withdrawal = { status: "gone" }

/** Withdraws it. Both who takes the inbox and who withdraws from it first change it in memory, in one step. */
export const withdrawPrompt = Effect.fnUntraced(function*(live: Live, id: MessageID) {
  // A loop that has just begun was started for what it finds: nothing of it may be missing.
  if (live.running !== undefined && !live.hasOpenTurn) return gone
  const row = live.inbox.withdraw(id)
  if (row === undefined) return gone
  const journal = yield* Journal
  const at = yield* Clock.currentTimeMillis
  const told = noLongerWaiting(journal, live, [id])
  yield* Effect.tapError(
    journal.commit([{ _tag: "InboxTaken", id, sessionID: live.info.id, at }, ...told], live.info),
    () => Effect.sync(() => live.inbox.restore(row))
  )
  const waiter = live.running?.waiters.get(id)
  live.running?.waiters.delete(id)
  if (waiter !== undefined) {
    const message = `The prompt ${id} was withdrawn before an agent read it.`
    Deferred.unsafeDone(waiter, Exit.fail(new SessionStopped({ id: live.info.id, message })))
  }
  return { status: "withdrawn", text: textOfRow(row) } satisfies Withdrawal
}, Effect.uninterruptible)

/** The submitted parts, with well-formed text. */
export const asParts = (prompt: string | ReadonlyArray<PartInput>): ReadonlyArray<PartInput> =>
  wellFormed(typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt)

/** Refuses a prompt that is empty, or has too many parts. */
export const checkParts = (parts: ReadonlyArray<PartInput>): Effect.Effect<void, PromptInvalid> =>
  parts.length > mostParts
    ? Effect.fail(
      new PromptInvalid({
        message: `The prompt has ${parts.length} parts; the limit is ${mostParts}. Join texts into fewer parts.`
      })
    )
    : parts.some((part) => part.type !== "text" || part.text.trim() !== "")
    ? Effect.void
    : Effect.fail(new PromptInvalid({ message: "The prompt is empty: give some text, a file, or a subtask." }))

const textOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.description] : []).join(
    "\n"
  )

/** Stores a prompt or a note, with its changes of the session. */
const store = Effect.fnUntraced(function*(
  live: Live,
  kind: "prompt" | "note",
  parts: ReadonlyArray<PartInput>,
  { after, budget, command, onStored, receipt, ...said }: Omit<PromptOptions, "output">
) {
  const journal = yield* Journal
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const row: InboxRow = {
    id: yield* ids.make("msg"),
    sessionID: live.info.id,
    kind,
    parts,
    ...(after === undefined ? {} : { after }),
    ...wellFormed(said),
    ...live.stamp(kind),
    time: { created: now }
  }
  const names = kind === "prompt" && live.info.title === untitled
  const patch = {
    ...(names ? { title: firstWords(textOf(parts)) || untitled } : {}),
    ...(budget === undefined ? {} : { budget: opened(live.budget, budget, now) })
  }
  yield* failpoint("user_msg_before_commit")
  const changed = names || budget !== undefined ? [live.record.change(now, patch)] : []
  if (budget !== undefined) {
    forgoPromise(live.budget)
    grantWaiting(live.budget)
  }
  const waits = isPersonPrompt(row) && live.running !== undefined
  if (waits) live.inbox.announce(row)
  const stored = journal.commit([
    { _tag: "Inbox", row },
    ...changed,
    ...(waits ? [inboxChanged(journal, live)] : []),
    ...(receipt === undefined
      ? []
      : [
        { _tag: "Receipt", receipt: { ...receipt, sessionID: row.sessionID, result: row.id, created: now } } as const
      ]),
    ...(command === undefined ? [] : [journal.fact(live.info, "command.executed", wellFormed(command))])
  ])
  yield* Effect.tapError(stored, () => Effect.sync(() => live.inbox.unannounce(row.id)))
  yield* failpoint("user_msg_after_commit")
  onStored?.(row.id)
  return { row, first: names && live.parent === undefined }
})

/** Stores a message without answering it: the model sees it with the next prompt. */
const addNote = (live: Live, parts: ReadonlyArray<PartInput>) =>
  Effect.uninterruptible(Effect.map(store(live, "note", parts, {}), ({ row }) => live.inbox.push(row)))

/**
 * Stores a prompt and waits for its answer. Only the waiting is interruptible, so that a stored prompt is always
 * submitted.
 */
const submitPrompt = (
  live: Live,
  parts: ReadonlyArray<PartInput>,
  { onStoring = () => {}, output, ...options }: PromptOptions,
  stops: number
) =>
  traced(
    "Session.prompt",
    () => ({ "gen_ai.operation.name": "invoke_agent", ...sessionAttributes(live) }),
    // While it can still be interrupted: a sender that goes away from now on interrupts nothing.
    Effect.zipRight(
      Effect.sync(onStoring),
      Effect.uninterruptibleMask((restore) => {
        let isSubmitting = true
        live.run.submitting++
        const submitted = () => {
          if (isSubmitting) live.run.submitting--
          isSubmitting = false
        }
        const submitting = Effect.gen(function*() {
          yield* checkParts(parts)
          yield* (yield* SessionTable).still(live)
          // It was stopped while hooks checked it, or while it was being stored: it stays as a note, and starts nothing.
          const kind = live.run.stops === stops ? "prompt" : "note"
          const { first, row } = yield* store(live, kind, parts, options)
          if (live.run.stops !== stops) return yield* withdrawn(live, row)
          if (first) yield* startSideFiber(live, inProject(live, makeTitle(live, textOf(parts))))
          if (output !== undefined) live.inbox.askForm(row.id, output)
          return yield* Effect.ensuring(
            submit(live, row, restore, stops, submitted),
            Effect.sync(() => live.inbox.dropForm(row.id))
          )
        })
        return Effect.ensuring(submitting, Effect.sync(submitted))
      })
    ),
    (exit) =>
      Exit.isSuccess(exit)
        ? { outcome: exit.value.end, failed: false, attributes: usageAttributes(exit.value.usage) }
        : undefined
  )

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
