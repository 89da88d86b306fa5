/** Proposes rules: what people allowed by hand again and again, read from the log. */
import { covers } from "@skein/core/Ruleset"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { PermissionRequest } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

/** How often something has to be allowed by hand before a rule is proposed. */
export const enough = 3

/** The newest sessions whose log is read. */
const mostSessions = 500

/** A rule that would have answered questions, and how many. */
export interface Suggestion {
  readonly permission: string
  readonly pattern: string
  readonly times: number
}

/** What was asked in a tree and allowed once, by a person. */
const allowedIn = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const logged = yield* storage.events({ after: 0, rootID, types: ["permission.asked", "permission.replied"] })
  const asked = new Map<string, PermissionRequest>()
  const allowed: Array<PermissionRequest> = []
  for (const { event } of logged) {
    if (event.type === "permission.asked") asked.set(event.properties.id, event.properties)
    if (event.type !== "permission.replied" || event.properties.reply !== "once") continue
    const request = asked.get(event.properties.id)
    if (request !== undefined) allowed.push(request)
  }
  return allowed
})

/** The rules that the log of a project suggests, those that would answer most first. */
export const suggestionsFor = Effect.fnUntraced(function*(projectID: string) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.sessions({ projectID, roots: true, limit: mostSessions })
  const approvals = yield* storage.approvals(projectID)
  const requests = (yield* Effect.forEach(rows, ({ id }) => allowedIn(id))).flat()
  const counted = new Map<string, Suggestion>()
  for (const { always, permission } of requests) {
    for (const pattern of new Set(always)) {
      const key = `${permission} ${pattern}`
      counted.set(key, { permission, pattern, times: (counted.get(key)?.times ?? 0) + 1 })
    }
  }
  const holds = ({ pattern, permission }: Suggestion) =>
    approvals.some((each) => each.permission === permission && covers(each.pattern, pattern))
  return [...counted.values()].filter((each) => each.times >= enough && !holds(each))
    .toSorted((a, b) => b.times - a.times)
})
