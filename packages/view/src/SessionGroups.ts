/** Groups a list of sessions by what they need: those that wait for a person first, finished ones and drafts last. */
import type { ListedSession } from "@skein/domain/TreeSnapshot"
import { elsewhereText } from "./Activity.ts"
import { heldText } from "./AgentNode.ts"

/** The groups, in the order of the list. */
export const groups = ["needs you", "running", "waiting", "failed", "done", "drafts"] as const
/** The name of a group. */
export type Group = typeof groups[number]

/** A root session in a list, and what is known about its tree. */
export interface SessionRow {
  readonly session: ListedSession
  /** How many questions of its tree wait for a person. */
  readonly asks: number
  /** Whether something below it is running although it is idle itself. */
  readonly worksBelow: boolean
}

/** The group of a session, and the reason. */
export const placeOf = (
  { asks, session: { status, turn }, worksBelow }: SessionRow
): { readonly group: Group; readonly why: string } => {
  if (asks > 0) return { group: "needs you", why: asks === 1 ? "1 question" : `${asks} questions` }
  switch (status.type) {
    case "busy":
      return { group: "running", why: `step ${status.step + 1}` }
    case "compacting":
      return { group: "running", why: "summarises" }
    case "queued":
      return { group: "waiting", why: `queued, place ${status.position}` }
    case "waiting":
      return { group: "waiting", why: `for budget: ${status.message}` }
    case "retry":
      return { group: "waiting", why: `retry ${status.attempt}: ${status.message}` }
    case "away":
      return { group: "waiting", why: `for a server on the host ${status.host}` }
    case "stuck":
      return { group: "failed", why: heldText(status) }
    case "elsewhere":
      return { group: "running", why: elsewhereText(status) }
    case "idle":
      break
  }
  if (turn !== undefined && turn.ended === undefined) return { group: "waiting", why: "interrupted" }
  if (worksBelow) return { group: "running", why: "its tasks work in the background" }
  switch (turn?.ended?.how) {
    case "failed":
      return { group: "failed", why: turn?.ended?.error?.message ?? "failed" }
    case "stopped":
      return { group: "done", why: "stopped" }
    case "denied":
      return { group: "failed", why: "a call was rejected" }
    case "steps":
      return { group: "done", why: "stopped at its limit of steps" }
    case "completed":
      return { group: "done", why: "" }
    case undefined:
      return { group: "drafts", why: "not begun" }
  }
}

/** Sessions by their group, the latest change first, without empty groups. */
export const grouped = (
  rows: ReadonlyArray<SessionRow>
): ReadonlyArray<{ readonly group: Group; readonly rows: ReadonlyArray<SessionRow> }> => {
  const found = new Map<Group, Array<SessionRow>>()
  for (const row of rows) {
    const { group } = placeOf(row)
    const of = found.get(group)
    if (of === undefined) found.set(group, [row])
    else of.push(row)
  }
  return groups.flatMap((group) => {
    const of = found.get(group)
    return of === undefined
      ? []
      : [{ group, rows: of.toSorted((a, b) => b.session.time.updated - a.session.time.updated) }]
  })
}
