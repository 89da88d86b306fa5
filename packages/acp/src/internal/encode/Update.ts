/** Decides what is sent to a client as `session/update`. */
import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable"
import type { Change } from "../../Change.ts"

/** An update, and the session that it belongs to. */
export interface Update {
  readonly sessionId: string
  readonly update: SessionUpdate
}

/** Turns changes into updates; it knows what the client got before. */
export interface Encoder {
  /** Whether each subagent is a session of its own for the client. */
  readonly isNested: boolean
  readonly encode: (change: Change) => ReadonlyArray<Update>
  /** What a question is asked about: the session that it is shown in. */
  readonly sessionOf: (session: string) => string
}
