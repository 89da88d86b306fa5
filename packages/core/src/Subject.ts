/** Whose call is decided, which tool makes it, and which call a question is for. */
import type { PartID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Effect from "effect/Effect"
import type { EventSource } from "./JournalEntry.ts"

/** Whose call it is, and the rules that apply to it. */
export interface Subject {
  readonly session: EventSource & Pick<SessionInfo, "projectID" | "directory">
  /** The names of the agents from the root to the caller. */
  readonly path: ReadonlyArray<string>
  /** The mode of the tree. */
  readonly mode: Mode
  /** The rules of the agent, over the defaults. */
  readonly rules: Ruleset
  /** The ceilings of the session, of its agent, and of all above. Each restricts, and none lifts another. */
  readonly ceilings: ReadonlyArray<Ruleset>
  /** The rules for its calls when its run was requested: what they denied stays denied. Their other rules do not count. */
  readonly earlier?: ReadonlyArray<Ruleset>
  /** The current subject: agents may be switched and config may change while a call waits. */
  readonly now?: Effect.Effect<Subject>
}

/** The calling tool, by its name and its permission key. */
export interface Caller {
  readonly name: string
  readonly permission: string
  /** Whether nobody knows what a call changes. */
  readonly opaque?: boolean
}

/** The call that a question is for. */
export interface AskingCall {
  readonly partID: PartID
  /** Whether an earlier process may have asked this already: then its question and its answer are reused. */
  readonly resumes: boolean
  /** The arguments of the call, and its id, for hooks. */
  readonly about?: { readonly input: unknown; readonly callID: string }
  /** Replaces the call's arguments with those of a hook that consents; if absent, such a hook is refused. */
  readonly changed?: (input: unknown) => void
}
