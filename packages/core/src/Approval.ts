/** An answer of `always`, as it is stored, and the rule that it is. */
import type { SessionID } from "@skein/domain/Id"
import type { Rule } from "@skein/domain/Rule"

/** An answer of `always`: from then on it turns `ask` into `allow`, in a project or in one tree of sessions of it. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  /** The root of the only tree that it holds for, with which it is removed; it holds for the project where absent. */
  readonly rootID?: SessionID
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** An approval as a rule. */
export const approvalRule = (approval: Approval): Rule => ({
  permission: approval.permission,
  pattern: approval.pattern,
  action: "allow"
})
