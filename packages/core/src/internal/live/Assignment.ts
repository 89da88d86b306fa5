/** Owns the terms of a task's current run: its ceilings, the schema of its answer, and whether it must conclude. */
import type { Ruleset } from "@skein/domain/Rule"
import type { AnswerForm } from "./Inbox.ts"

/** The terms of the current run of one session; empty for a root. */
export class Assignment {
  #ceilings: ReadonlyArray<Ruleset> = []
  #form: AnswerForm | undefined
  #isConcluding = false

  /** The ceilings from above when the run began: during the run they can only narrow. */
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
