/** Owns the inbox of a session: stored rows that are not yet part of a turn, oldest first. */
import type { MessageID } from "@skein/domain/Id"
import { type InboxRow, isPersonPrompt, waitingOf, type WaitingPrompt } from "@skein/domain/InboxRow"
import type * as Context from "effect/Context"
import type * as Schema from "effect/Schema"
import type { Journal } from "../../Journal.ts"
import type { Entry, EventSource } from "../../Write.ts"

/** The form of an answer. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export type AnswerForm = Schema.Schema<any, any>

/** Whether a row needs an answer; a note waits for the next row that does. */
const wantsAnswer = (row: InboxRow): boolean => row.kind !== "note"

/** Whether a row waits for the end of the turn. */
const isQueued = (row: InboxRow): boolean => row.after === "turn"

/** The inbox of one session. */
export class Inbox {
  #rows: Array<InboxRow>
  #forms: Map<MessageID, AnswerForm> | undefined
  /** The prompts that people see waiting. */
  #announced: Map<MessageID, InboxRow> | undefined

  constructor(rows: ReadonlyArray<InboxRow>) {
    this.#rows = [...rows]
    for (const row of rows) if (isPersonPrompt(row)) this.announce(row)
  }

  /** All rows, oldest first. */
  get rows(): ReadonlyArray<InboxRow> {
    return this.#rows
  }

  /** Whether a loop that runs has something left to answer. */
  get wantsAnswer(): boolean {
    return this.#rows.some(wantsAnswer)
  }

  /** Whether a row starts the loop: one that waits for the end of a turn does not start any. */
  get startsLoop(): boolean {
    return this.#rows.some((row) => wantsAnswer(row) && !isQueued(row))
  }

  /** The prompts that people see waiting, oldest first. */
  get announced(): ReadonlyArray<WaitingPrompt> {
    return this.#announced === undefined ? [] : Array.from(this.#announced.values(), waitingOf)
  }

  /** A prompt is about to be stored that will have to wait. */
  announce(row: InboxRow): void {
    this.#announced ??= new Map()
    this.#announced.set(row.id, row)
  }

  /** A prompt waits no longer; says whether people saw it waiting. */
  unannounce(id: MessageID): boolean {
    return this.#announced?.delete(id) ?? false
  }

  /** Takes a person's prompt back that no turn has read; undefined if there is none of this id. */
  withdraw(id: MessageID): InboxRow | undefined {
    return this.#takeOut((row) => row.id === id && isPersonPrompt(row))[0]
  }

  /** Takes rows out, and keeps the rest. */
  #takeOut(isMeant: (row: InboxRow, at: number) => boolean): ReadonlyArray<InboxRow> {
    const taken = this.#rows.filter(isMeant)
    if (taken.length > 0) {
      const gone = new Set(taken)
      this.#rows = this.#rows.filter((row) => !gone.has(row))
    }
    return taken
  }

  /** Puts a row back where it was. */
  restore(row: InboxRow): void {
    this.#rows.push(row)
    this.#rows.sort((a, b) => a.id < b.id ? -1 : 1)
  }

  /** Puts a stored row at the end. */
  push(row: InboxRow): void {
    this.#rows.push(row)
  }

  /** Puts taken rows back, because storing that failed. */
  putBack(rows: ReadonlyArray<InboxRow>): void {
    this.#rows = [...rows, ...this.#rows]
  }

  /** Takes the matching rows, in order. */
  takeIf(isMeant: (row: InboxRow) => boolean): ReadonlyArray<InboxRow> {
    return this.#takeOut(isMeant)
  }

  /** Turns an abandoned prompt into a note, which waits for no end of a turn; returns the note. */
  makeNote(id: MessageID): InboxRow | undefined {
    const at = this.#rows.findIndex((row) => row.id === id)
    const row = this.#rows[at]
    if (row === undefined) return undefined
    const { after: _, ...rest } = row
    return this.#rows[at] = { ...rest, kind: "note" }
  }

  /** Turns unread messages into notes, because their session is stopped; returns the notes. */
  makeNotesOfMessages(): ReadonlyArray<InboxRow> {
    return this.#rows.filter(({ kind }) => kind === "steer").flatMap(({ id }) => this.makeNote(id) ?? [])
  }

  /**
   * Takes what the next step reads: everything, up to a prompt with its own schema. Such a prompt begins a new turn, and
   * so does each that waited for the end of one, once nothing else is left.
   */
  take(beginsTurn: boolean): ReadonlyArray<InboxRow> {
    const special = this.#rows.findIndex((row) => this.formOf(row.id) !== undefined)
    if (special === 0 && beginsTurn) return this.#rows.splice(0, 1)
    const end = special < 0 ? this.#rows.length : special
    const mayTake = (row: InboxRow, at: number) => at < end && !isQueued(row)
    const isAnswered = this.#rows.some((row, at) => mayTake(row, at) && wantsAnswer(row))
    const queued = beginsTurn && !isAnswered ? this.#rows.findIndex((row, at) => at < end && isQueued(row)) : -1
    return this.#takeOut((row, at) => at === queued || mayTake(row, at))
  }

  /** Whether a running turn can take more: a row needs an answer, but not a new turn. */
  get hasMore(): boolean {
    const first = this.#rows.find((row) => wantsAnswer(row) && !isQueued(row))
    return first !== undefined && this.formOf(first.id) === undefined
  }

  /** Notes the schema of a prompt, in the inbox and in its turn. */
  askForm(id: MessageID, form: AnswerForm): void {
    this.#forms ??= new Map()
    this.#forms.set(id, form)
  }

  /** The schema of a prompt. */
  formOf(id: MessageID): AnswerForm | undefined {
    return this.#forms?.get(id)
  }

  /** Forgets the schema of an answered prompt. */
  dropForm(id: MessageID): void {
    this.#forms?.delete(id)
  }
}

/** The session of an inbox. */
interface Owner {
  readonly inbox: Inbox
  readonly info: EventSource
}

/** What waits now. */
export const inboxChanged = (journal: Context.Tag.Service<Journal>, { inbox, info }: Owner): Entry =>
  journal.fact(info, "inbox.updated", { waiting: inbox.announced })

/** The news that prompts wait no longer; nothing if nobody saw them waiting. */
export const noLongerWaiting = (
  journal: Context.Tag.Service<Journal>,
  live: Owner,
  ids: ReadonlyArray<MessageID>
): ReadonlyArray<Entry> =>
  // Each has to be asked for: they wait no longer, whether or not one of them was seen.
  ids.filter((id) => live.inbox.unannounce(id)).length === 0 ? [] : [inboxChanged(journal, live)]
