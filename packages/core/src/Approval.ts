/** An answer of `always`, as stored, and the rule that it stands for. */
import type { SessionID } from "@skein/domain/Id"
import type { Rule } from "@skein/domain/Rule"

/** An answer of `always`: it turns `ask` into `allow` from then on, in a project or in one of its trees of sessions. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  /**
   * The root of the only tree that it applies to; it is deleted with that tree. Absent if it applies to the project.
   */
  readonly rootID?: SessionID
  /**
   * Of one for the project, where the database has several hosts: the key of the machine on which it was given. It counts
   * only there, because the path is another project elsewhere.
   */
  readonly host?: string
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
