/** Owns what the run of a task asks of its session: how far it may go, in which form it answers, and whether it has to conclude. */
import type { Ruleset } from "@skein/domain/Rule"
import type { AnswerForm } from "./Inbox.ts"

/** What the run at work asks of one session. A session that is no task's has an empty one. */
export class Assignment {
  #ceilings: ReadonlyArray<Ruleset> = []
  #form: AnswerForm | undefined
  #isConcluding = false

  /** The ceilings from above as they were when the run began: while it lasts they only narrow. */
  get ceilings(): ReadonlyArray<Ruleset> {
    return this.#ceilings
  }

  /** The form of the answers of all its turns, where the caller asks for one. */
  get form(): AnswerForm | undefined {
    return this.#form
  }

  /** Whether it was asked to come to an end: its next step is the last, and has no tools. */
  get isConcluding(): boolean {
    return this.#isConcluding
  }

  /** A run begins. */
  begin(ceilings: ReadonlyArray<Ruleset>): void {
    this.#ceilings = ceilings
  }

  /** Asks for answers of a form; undefined ends that. */
  askForm(form: AnswerForm | undefined): void {
    this.#form = form
  }

  /** Asks it to come to an end, or ends that. */
  conclude(concludes: boolean): void {
    this.#isConcluding = concludes
  }
}
