/** Owns the terms of a task's current run: what bounds it, the schema of its answer, and whether it must conclude. */
import type { RunTerms, TaskRun } from "@skein/domain/Outcome"
import type { AnswerForm } from "./Inbox.ts"

/** The terms of a root, and of a run that nothing bounds. */
export const noTerms: RunTerms = { ceilings: [], rules: [], shared: [] }

/** The terms of a run that cannot be read: nothing is known of them, so nothing is allowed. */
export const unreadableTerms: RunTerms = {
  ceilings: [[{ permission: "*", pattern: "*", action: "deny" }]],
  rules: [],
  shared: []
}

/** The terms of a stored run. */
export const termsOf = ({ ceilings = [], terms }: Pick<TaskRun, "ceilings" | "terms">): RunTerms =>
  terms ?? (ceilings.length === 0 ? noTerms : { ...noTerms, ceilings })

/** The terms of the current run of one session, or of its last one; none for a root. */
export class Assignment {
  #terms: RunTerms
  #form: AnswerForm | undefined
  #isConcluding = false

  constructor(terms: RunTerms) {
    this.#terms = terms
  }

  /** What bounded the run when it was requested: until its end that can only narrow. */
  get terms(): RunTerms {
    return this.#terms
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
  begin(terms: RunTerms): void {
    this.#terms = terms
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
