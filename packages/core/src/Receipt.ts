/** The outcome of a request that a client may send twice: the second time, it gets the same ids, and nothing is done. */
import type { SessionID } from "@skein/domain/Id"

/** A request that was carried out under a key of its sender. */
export interface Receipt {
  /** What the sender calls the request. */
  readonly key: string
  /** A digest of all that was sent: a key stands for one request. */
  readonly digest: string
  readonly sessionID: SessionID
  /** What the sender got: one id, several with a space between them, or for a summary its JSON. */
  readonly result: string
  /** In milliseconds since 1970. */
  readonly created: number
}

/** A request that is to leave a receipt. */
export type Keyed = Pick<Receipt, "key" | "digest">

/** How long receipts are kept, in milliseconds. */
export const receiptLifetime = 24 * 60 * 60_000
