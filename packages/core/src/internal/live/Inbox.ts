/** Owns what waits for a session: rows that are stored and not yet part of a turn, oldest first. */
import type { MessageID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type * as Schema from "effect/Schema"

/** The form of an answer. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export type AnswerForm = Schema.Schema<any, any>

/** Whether a row makes a session work; a note waits for the next row that does. */
const wantsAnswer = (row: InboxRow): boolean => row.kind !== "note"

/** What waits for one session. */
export class Inbox {
  readonly #rows: Array<InboxRow>
  #forms: Map<MessageID, AnswerForm> | undefined

  constructor(rows: ReadonlyArray<InboxRow>) {
    this.#rows = [...rows]
  }

  /** All that waits, oldest first. */
  get rows(): ReadonlyArray<InboxRow> {
    return this.#rows
  }

  /** Whether something waits that makes the session work. */
  get wantsAnswer(): boolean {
    return this.#rows.some(wantsAnswer)
  }

  /** Puts a stored row at the end. */
  push(row: InboxRow): void {
    this.#rows.push(row)
  }

  /** Puts rows back that were taken and could not be stored as taken. */
  putBack(rows: ReadonlyArray<InboxRow>): void {
    this.#rows.unshift(...rows)
  }

  /** Takes the rows that are meant, in order. */
  takeIf(isMeant: (row: InboxRow) => boolean): ReadonlyArray<InboxRow> {
    const taken = this.#rows.filter(isMeant)
    if (taken.length > 0) this.#rows.splice(0, this.#rows.length, ...this.#rows.filter((row) => !isMeant(row)))
    return taken
  }

  /** Makes a note of a row that nobody waits for any longer; gives the note. */
  makeNote(id: MessageID): InboxRow | undefined {
    const at = this.#rows.findIndex((row) => row.id === id)
    const row = this.#rows[at]
    return row === undefined ? undefined : this.#rows[at] = { ...row, kind: "note" }
  }

  /**
   * Takes what the next step reads: everything, up to a prompt that asks for an answer of its own form. Such a prompt begins a
   * turn of its own.
   */
  take(beginsTurn: boolean): ReadonlyArray<InboxRow> {
    const special = this.#rows.findIndex((row) => this.formOf(row.id) !== undefined)
    if (special < 0) return this.#rows.splice(0)
    return this.#rows.splice(0, special === 0 && beginsTurn ? 1 : special)
  }

  /** Whether a turn at work can take more: what waits wants an answer, and no turn of its own. */
  get hasMore(): boolean {
    const first = this.#rows.find(wantsAnswer)
    return first !== undefined && this.formOf(first.id) === undefined
  }

  /** Notes the form that a prompt asks for, in the inbox and in its turn. */
  askForm(id: MessageID, form: AnswerForm): void {
    this.#forms ??= new Map()
    this.#forms.set(id, form)
  }

  /** The form that a prompt asks for. */
  formOf(id: MessageID): AnswerForm | undefined {
    return this.#forms?.get(id)
  }

  /** Forgets the form of a prompt that was answered. */
  dropForm(id: MessageID): void {
    this.#forms?.delete(id)
  }
}
