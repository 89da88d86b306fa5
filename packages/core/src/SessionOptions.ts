/** What new sessions start from. */
import type { Budget } from "@skein/domain/Budget"
import type { MessageID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Keyed } from "./Receipt.ts"

/** The options of a new session. */
export interface SessionOptions {
  /** The working directory, absolute. */
  readonly directory: string
  /** The agent's name; by default `default_agent` of the config. */
  readonly agent?: string
  /**
   * How much it may do without asking, together with everything below it. By default `plan` for the agent `plan`, else
   * `ask`.
   */
  readonly mode?: Mode
  readonly model?: ModelRef
  readonly title?: string
  /** The project whose approvals apply; by default the directory. */
  readonly projectID?: string
  /** Rules that the session and everything below it cannot exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it, until you set another budget; by default `budget` of the config. */
  readonly budget?: Budget
  /** Stored with the session, for senders who may send the request twice; see `SessionStorage.receipt`. */
  readonly receipt?: Keyed
}

/** The options of a copy of a session. */
export interface ForkOptions {
  /** The last message that is copied; by default all are. */
  readonly messageID?: MessageID
  /** Stored with the copy, for senders who may send the request twice; see `SessionStorage.receipt`. */
  readonly receipt?: Keyed
}

/** The options of a child session. */
export interface ChildOptions {
  readonly agent: string
  readonly title: string
  readonly model?: ModelRef
  /** A system prompt that replaces the agent's. */
  readonly prompt?: string
  readonly permission: Ruleset
  /** Where it works, if not in its parent's directory. */
  readonly place?: Pick<SessionInfo, "directory" | "worktree">
}
