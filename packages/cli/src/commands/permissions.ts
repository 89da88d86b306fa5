/** `skein permissions`: lists and revokes approvals, and proposes rules. */
import { Permission } from "@skein/core/Permission"
import { SessionStorage } from "@skein/core/SessionStorage"
import { machineOf } from "@skein/core/Whereabouts"
import { enough, type Suggestion, suggestionsFor } from "@skein/server/Suggestions"
import * as Effect from "effect/Effect"
import { command, group } from "../CommandSpec.ts"
import { readableStorage, services, settleIn } from "../internal/app.ts"
import { changeable, readable, serverBackend } from "../internal/attach/database.ts"
import { databaseFlags, directoryFlags, listingFlags, placeFlags } from "../internal/flags.ts"
import { among, sessionOf } from "../internal/ids.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { formatTime, printList, tell } from "../internal/print.ts"
import { Stdio } from "../Stdio.ts"

const scopeFlags = {
  session: {
    type: "text",
    short: "s",
    value: "ID",
    description: "Only the approvals that apply to this session's tree"
  },
  ...directoryFlags,
  ...placeFlags
} as const

const projectIn = (dir: string | undefined) => Effect.flatMap(directoryOf(dir), projectOf)

/** The project, and the tree if one was named. */
const scopeOf = Effect.fnUntraced(function*(
  { dir, session }: { readonly dir: string | undefined; readonly session: string | undefined }
) {
  return session === undefined
    ? { projectID: yield* projectIn(dir), rootID: undefined }
    : yield* sessionOf(session)
})

const list = command({
  name: "list",
  summary: "Lists the approvals of this project and of its sessions",
  flags: { ...listingFlags, ...scopeFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { projectID, rootID } = yield* scopeOf(flags)
      yield* printList(flags, {
        items: yield* Effect.flatMap(SessionStorage, (store) => store.approvals(projectID, rootID)),
        columns: {
          "ID": ({ id }) => id,
          "SINCE": ({ created }) => formatTime(created),
          "HOLDS FOR": ({ host, rootID: tree }) =>
            tree ?? (host === undefined ? "the project" : `the project on ${machineOf(host).host}`),
          "PERMISSION": ({ permission }) => permission,
          "PATTERN": ({ pattern }) => pattern
        },
        empty: "Nothing was allowed here beyond what rules say. Answers of \"always\" are listed here."
      })
    }).pipe(Effect.provide(readable(flags)))
})

const revoke = command({
  name: "revoke",
  summary: "Revokes an approval. Running agents ask again as well",
  operands: "ID",
  flags: scopeFlags,
  run: ({ flags, operands: [given = ""] }) =>
    Effect.gen(function*() {
      const { projectID } = yield* scopeOf(flags)
      const approvals = yield* Effect.flatMap(SessionStorage, (store) => store.approvals(projectID))
      const id = (yield* among(given, approvals.map((each) => each.id))) ?? given
      const server = yield* serverBackend
      if (server !== undefined) yield* server.asks.revoke(projectID, id)
      else {
        const settled = yield* settleIn(flags.dir)
        yield* Effect.provide(Permission.revoke(projectID, id), services(settled, settled.agents, "nobody"))
      }
      yield* tell(`Revoked: ${id}`)
    }).pipe(Effect.provide(changeable(flags)))
})

/** The rules as a config file has them. */
const asConfig = (suggestions: ReadonlyArray<Suggestion>): string => {
  const permission: Record<string, Record<string, "allow">> = {}
  for (const { pattern, permission: key } of suggestions) (permission[key] ??= {})[pattern] = "allow"
  return JSON.stringify({ permission }, undefined, 2)
}

const suggest = command({
  name: "suggest",
  summary: "Proposes rules for what you allowed by hand three times or more in this project",
  flags: { ...listingFlags, ...directoryFlags, ...databaseFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const suggestions = yield* Effect.flatMap(projectIn(flags.dir), suggestionsFor)
      yield* printList(flags, {
        items: suggestions,
        columns: {
          TIMES: ({ times }) => String(times),
          PERMISSION: ({ permission }) => permission,
          PATTERN: ({ pattern }) => pattern
        },
        empty: `No request was allowed ${enough} times by hand in this project.`
      })
      if (flags.format === "json" || suggestions.length === 0) return
      const { out } = yield* Stdio
      out(`\nTo stop being asked, add this to your own config or to a trusted skein.json:\n${asConfig(suggestions)}\n`)
    }).pipe(Effect.provide(readableStorage(flags.db)))
})

/** Lists and revokes approvals. */
export const permissions = group([list, revoke, suggest])
