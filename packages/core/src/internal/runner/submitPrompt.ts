/** Submits prompts to a session: stores a prompt, then answers it. */
import { Ids } from "@skein/domain/Id"
import { type InboxRow, isPersonPrompt } from "@skein/domain/InboxRow"
import { mostParts, type PartInput } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { failpoint } from "../../Failpoints.ts"
import { Journal } from "../../Journal.ts"
import { PromptInvalid, type PromptOptions } from "../../Turn.ts"
import { grantWaiting } from "../budget/requests.ts"
import { forgoPromise, opened } from "../budget/reservations.ts"
import { inboxChanged } from "../live/inboxChanged.ts"
import { inProject } from "../live/inProject.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { sessionAttributes, usageAttributes } from "../live/spanAttributes.ts"
import { startSideFiber } from "../live/startSideFiber.ts"
import { firstWords, makeTitle, untitled } from "../summary/makeSummary.ts"
import { wellFormed } from "../text.ts"
import { traced } from "../traced.ts"
import { submit, withdrawn } from "./runner.ts"

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
export const addNote = (live: Live, parts: ReadonlyArray<PartInput>) =>
  Effect.uninterruptible(Effect.map(store(live, "note", parts, {}), ({ row }) => live.inbox.push(row)))

/**
 * Stores a prompt and waits for its answer. Only the waiting is interruptible, so that a stored prompt is always
 * submitted.
 */
export const submitPrompt = (
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
        live.run.beginSubmit()
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
            submit(live, row, restore, stops),
            Effect.sync(() => live.inbox.dropForm(row.id))
          )
        })
        return Effect.ensuring(submitting, Effect.sync(() => live.run.endSubmit()))
      })
    ),
    (exit) =>
      Exit.isSuccess(exit)
        ? { outcome: exit.value.end, failed: false, attributes: usageAttributes(exit.value.usage) }
        : undefined
  )
