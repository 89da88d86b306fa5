/** Whose call is decided, by which tool it is made, and for which call a question is asked. */
import type { PartID } from "@skein/domain/Id"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Effect from "effect/Effect"
import type { EventSource } from "./JournalEntry.ts"

/** Whose call it is, and the rules that it goes by. */
export interface Subject {
  readonly session: EventSource & Pick<SessionInfo, "projectID" | "directory">
  /** The names of the agents from the root to the one that calls. */
  readonly path: ReadonlyArray<string>
  /** The rules of the agent, over the defaults. */
  readonly rules: Ruleset
  /** The ceilings of the session, of its agent, and of all above; each has a say, none can lift another. */
  readonly ceilings: ReadonlyArray<Ruleset>
  /** The same as it is when it is asked for: agents may be switched and config may change while a call waits. */
  readonly now?: Effect.Effect<Subject>
}

/** The tool that calls, by its name and by the permission key that it goes by. */
export interface Caller {
  readonly name: string
  readonly permission: string
}

/** The call that a question is asked for. */
export interface AskingCall {
  readonly partID: PartID
  /** Whether a process that is no more may have asked for it already: the question is the same then, and so is its answer. */
  readonly resumes: boolean
  /** The arguments of the call, and its id: hooks are told of them. */
  readonly about?: { readonly input: unknown; readonly callID: string }
  /** Takes the arguments that a hook that consents puts in the place of the call's; where absent, such a hook is refused. */
  readonly changed?: (input: unknown) => void
}
