/** Receipts of prompts. A client that sends a prompt twice gets the same ids, and the session is prompted once. */
import type { MessageID, SessionID } from "@skein/domain/Id"

/** A prompt that was stored with an idempotency key. */
export interface Receipt {
  /** The idempotency key, which the client chooses. */
  readonly key: string
  /** A digest of the request: the same key with another request is an error. */
  readonly digest: string
  readonly sessionID: SessionID
  readonly messageID: MessageID
  /** In milliseconds since 1970. */
  readonly created: number
}

/** How long receipts are kept, in milliseconds. */
export const receiptLifetime = 24 * 60 * 60_000
