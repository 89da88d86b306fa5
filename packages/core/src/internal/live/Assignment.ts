/**
 * Owns what the run of a task demands of its session: how far it may go, the schema of its answer, and whether it must
 * conclude.
 */
import type { Ruleset } from "@skein/domain/Rule"
import type { AnswerForm } from "./Inbox.ts"

/** What the current run demands of one session. The session of a root has an empty one. */
export class Assignment {
  #ceilings: ReadonlyArray<Ruleset> = []
  #form: AnswerForm | undefined
  #isConcluding = false

  /** The ceilings from above when the run began: while it lasts they only narrow. */
  get ceilings(): ReadonlyArray<Ruleset> {
    return this.#ceilings
  }

  /** The schema of the answers of all its turns, if the caller asked for one. */
  get form(): AnswerForm | undefined {
    return this.#form
  }

  /** Whether it must conclude: its next step is the last, and has no tools. */
  get isConcluding(): boolean {
    return this.#isConcluding
  }

  /** A run begins. */
  begin(ceilings: ReadonlyArray<Ruleset>): void {
    this.#ceilings = ceilings
  }

  /** Requires answers of a schema; undefined ends that. */
  askForm(form: AnswerForm | undefined): void {
    this.#form = form
  }

  /** Requires a conclusion, or ends that. */
  conclude(concludes: boolean): void {
    this.#isConcluding = concludes
  }
}
