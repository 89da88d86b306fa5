/** What `skein permissions suggest` does: reads in the log what was allowed by hand again and again, and proposes rules. */
import { covers } from "@skein/core/Ruleset"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { PermissionRequest } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { directoryOf, projectOf } from "../place.ts"
import { printList } from "./print.ts"
import { readableDatabase } from "./sessions.ts"

/** How often something was allowed that is worth a rule. */
const enough = 3

/** The newest sessions whose log is read. */
const mostSessions = 500

/** A rule that would have answered questions, and how many. */
interface Suggestion {
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

/** The rules that a project's log suggests, those that would answer most first. */
const suggestionsFor = Effect.fnUntraced(function*(projectID: string) {
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

/** As they stand in a config. */
const asConfig = (suggestions: ReadonlyArray<Suggestion>): string => {
  const permission: Record<string, Record<string, "allow">> = {}
  for (const { pattern, permission: key } of suggestions) (permission[key] ??= {})[pattern] = "allow"
  return JSON.stringify({ permission }, undefined, 2)
}

/** Lists them, with the config that would hold them. */
export const suggestPermissions = ({ flags }: {
  readonly flags: {
    readonly format: "default" | "json"
    readonly full: boolean
    readonly dir: string | undefined
    readonly db: string | undefined
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const projectID = yield* Effect.flatMap(directoryOf(flags.dir), projectOf)
    const suggestions = yield* suggestionsFor(projectID)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: suggestions,
      head: ["TIMES", "PERMISSION", "PATTERN"],
      rows: suggestions.map(({ pattern, permission, times }) => [String(times), permission, pattern]),
      empty: `Nothing was allowed ${enough} times by hand in this project.`
    })
    if (flags.format === "default" && suggestions.length > 0) {
      const stdio = yield* Stdio
      stdio.out(
        `\nTo stop being asked, add this to your own config or to a trusted skein.json:\n${asConfig(suggestions)}\n`
      )
    }
    return code
  }).pipe(Effect.provide(readableDatabase(flags.db)))
