/** What a prompt came to that a client may send twice: the second time, it gets the same ids and prompts nobody. */
import type { MessageID, SessionID } from "@skein/domain/Id"

/** A prompt that was stored under a key of its sender. */
export interface Receipt {
  /** What the sender calls the prompt. */
  readonly key: string
  /** A digest of all that was sent: a key stands for one prompt. */
  readonly digest: string
  readonly sessionID: SessionID
  readonly messageID: MessageID
  /** In milliseconds since 1970. */
  readonly created: number
}

/** How long receipts are kept, in milliseconds. */
export const receiptLifetime = 24 * 60 * 60_000
