/** Questions as agents ask them, and what is typed about them. */
import type { PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import type { PartID, PermissionID, SessionID } from "@skein/domain/Id"
import type { Dialog } from "../../src/Dialog.ts"
import { DialogQueue } from "../../src/internal/ask/dialogQueue.ts"
import { KeyDecoder } from "../../src/KeyDecoder.ts"

/** A question for permission. */
export const permission = (id: string, more: Partial<PermissionRequest> = {}): Dialog => ({
  kind: "permission",
  request: {
    id: id as PermissionID,
    sessionID: "ses_2" as SessionID,
    rootID: "ses_1" as SessionID,
    path: ["build", "general"],
    permission: "edit",
    patterns: ["a.txt"],
    always: ["*"],
    metadata: {},
    ...more
  }
})

/** A question for something else. */
export const question = (id: string, more: Partial<QuestionRequest> = {}): Dialog => ({
  kind: "question",
  request: {
    id: id as PartID,
    sessionID: "ses_1" as SessionID,
    rootID: "ses_1" as SessionID,
    path: ["build", "general"],
    question: "Which?",
    options: [{ label: "red" }, { label: "blue", description: "like \u001b[31mthe sky" }],
    multiple: false,
    ...more
  }
})

/** A person at the keyboard: each thing that is typed is one read. */
export class Desk {
  readonly dialogs = new DialogQueue()
  readonly #decoder = new KeyDecoder()
  now = 0

  constructor(...waiting: ReadonlyArray<Dialog>) {
    for (const dialog of waiting) this.dialogs.add(dialog)
    this.dialogs.show(0)
  }

  /** What is to be seen. */
  get state() {
    return this.dialogs.show(this.now)
  }

  /** Time goes by. */
  wait(milliseconds: number): this {
    this.now += milliseconds
    this.dialogs.show(this.now)
    return this
  }

  /** Types these reads, a moment apart; gives what was answered. */
  type(...reads: ReadonlyArray<string>) {
    for (const read of reads) {
      const keys = this.#decoder.decode(Buffer.from(read))
      this.dialogs.press(this.#decoder.isPending ? [...keys, ...this.#decoder.flush()] : keys, this.now)
      this.now += 20
    }
    return this.dialogs.take()
  }
}
