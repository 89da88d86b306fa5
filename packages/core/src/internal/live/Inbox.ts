/** Owns the inbox of a session: stored rows that are not yet part of a turn, oldest first. */
import type { MessageID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type * as Schema from "effect/Schema"

/** The form of an answer. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export type AnswerForm = Schema.Schema<any, any>

/** Whether a row starts the loop; a note waits for the next row that does. */
const wantsAnswer = (row: InboxRow): boolean => row.kind !== "note"

/** The inbox of one session. */
export class Inbox {
  readonly #rows: Array<InboxRow>
  #forms: Map<MessageID, AnswerForm> | undefined

  constructor(rows: ReadonlyArray<InboxRow>) {
    this.#rows = [...rows]
  }

  /** All rows, oldest first. */
  get rows(): ReadonlyArray<InboxRow> {
    return this.#rows
  }

  /** Whether a row starts the loop. */
  get wantsAnswer(): boolean {
    return this.#rows.some(wantsAnswer)
  }

  /** Puts a stored row at the end. */
  push(row: InboxRow): void {
    this.#rows.push(row)
  }

  /** Puts taken rows back, because storing that failed. */
  putBack(rows: ReadonlyArray<InboxRow>): void {
    this.#rows.unshift(...rows)
  }

  /** Takes the matching rows, in order. */
  takeIf(isMeant: (row: InboxRow) => boolean): ReadonlyArray<InboxRow> {
    const taken = this.#rows.filter(isMeant)
    if (taken.length > 0) this.#rows.splice(0, this.#rows.length, ...this.#rows.filter((row) => !isMeant(row)))
    return taken
  }

  /** Turns an abandoned prompt into a note; returns the note. */
  makeNote(id: MessageID): InboxRow | undefined {
    const at = this.#rows.findIndex((row) => row.id === id)
    const row = this.#rows[at]
    return row === undefined ? undefined : this.#rows[at] = { ...row, kind: "note" }
  }

  /**
   * Takes what the next step reads: everything, up to a prompt with its own schema. Such a prompt begins a new turn.
   */
  take(beginsTurn: boolean): ReadonlyArray<InboxRow> {
    const special = this.#rows.findIndex((row) => this.formOf(row.id) !== undefined)
    if (special < 0) return this.#rows.splice(0)
    return this.#rows.splice(0, special === 0 && beginsTurn ? 1 : special)
  }

  /** Whether a running turn can take more: a row needs an answer, but not a new turn. */
  get hasMore(): boolean {
    const first = this.#rows.find(wantsAnswer)
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
