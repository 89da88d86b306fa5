/** What new sessions start from. */
import type { Budget } from "@skein/domain/Budget"
import type { ModelRef } from "@skein/domain/Model"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"

/** What a new session starts from. */
export interface SessionOptions {
  /** The working directory, absolute. */
  readonly directory: string
  /** The agent's name; `default_agent` of the config where absent. */
  readonly agent?: string
  readonly model?: ModelRef
  readonly title?: string
  /** Names the project whose approvals hold; the directory where absent. */
  readonly projectID?: string
  /** Rules that the session and everything below it cannot exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it, until another budget is set; `budget` of the config where absent. */
  readonly budget?: Budget
}

/** What a session below another is given. */
export interface ChildOptions {
  readonly agent: string
  readonly title: string
  readonly model?: ModelRef
  /** The system prompt in the place of the agent's. */
  readonly prompt?: string
  readonly permission: Ruleset
  /** Where it works, if not where its parent does. */
  readonly place?: Pick<SessionInfo, "directory" | "worktree">
}
