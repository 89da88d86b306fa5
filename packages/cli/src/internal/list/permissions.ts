/** What `skein permissions` does. */
import { Backend } from "@skein/backend/Backend"
import { Permission } from "@skein/core/Permission"
import { SessionStorage } from "@skein/core/SessionStorage"
import { machineOf } from "@skein/core/Whereabouts"
import { enough, type Suggestion, suggestionsFor } from "@skein/server/Suggestions"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, services, settle, storage } from "../app.ts"
import { type AttachFlags, backendOf } from "../attach/attach.ts"
import { readable, serverOf } from "../attach/database.ts"
import { layer as remoteStorage } from "../attach/remoteStorage.ts"
import { among, sessionOf } from "../ids.ts"
import { directoryOf, projectOf } from "../place.ts"
import { formatTime, printList } from "./print.ts"
import { readableDatabase } from "./sessions.ts"

interface Place extends AttachFlags {
  readonly session: string | undefined
  readonly dir: string | undefined
}

/** The project, and the tree if one was named. */
const scopeOf = Effect.fnUntraced(function*({ dir, session }: Place) {
  if (session === undefined) {
    return { projectID: yield* Effect.flatMap(directoryOf(dir), projectOf), rootID: undefined }
  }
  return yield* sessionOf(session)
})

/** Lists the approvals. */
export const listPermissions = ({ flags }: {
  readonly flags: Place & { readonly format: "default" | "json"; readonly full: boolean }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { projectID, rootID } = yield* scopeOf(flags)
    const approvals = yield* Effect.flatMap(SessionStorage, (store) => store.approvals(projectID, rootID))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: approvals,
      head: ["ID", "SINCE", "HOLDS FOR", "PERMISSION", "PATTERN"],
      rows: approvals.map(({ created, host, id, pattern, permission, rootID: tree }) => [
        id,
        formatTime(created),
        tree ?? (host === undefined ? "the project" : `the project on ${machineOf(host).host}`),
        permission,
        pattern
      ]),
      empty: "Nothing was allowed here beyond what rules say. Answers of \"always\" are listed here."
    })
  }).pipe(Effect.provide(readable(flags)))

/** Revokes an approval. */
export const revokePermission = ({ flags, operands: [given = ""] }: {
  readonly flags: Place
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const found = yield* serverOf(flags)
    const stored = found === undefined
      ? Layer.provideMerge(storage, platform({ database: flags.db }))
      : Layer.provideMerge(Layer.provide(remoteStorage, backendOf(found)), platform({ database: flags.db }))
    return yield* Effect.provide(
      Effect.gen(function*() {
        const { projectID } = yield* scopeOf(flags)
        const approvals = yield* Effect.flatMap(SessionStorage, (store) => store.approvals(projectID))
        const id = (yield* among(given, approvals.map((each) => each.id))) ?? given
        yield* found === undefined
          ? revokeHere(flags, projectID, id)
          : Effect.provide(Effect.flatMap(Backend, ({ asks }) => asks.revoke(projectID, id)), backendOf(found))
        const stdio = yield* Stdio
        stdio.err(`Revoked: ${escapeLine(id)}`)
        return ExitCode.done
      }),
      stored
    )
  })

const revokeHere = Effect.fnUntraced(function*({ dir }: Place, projectID: string, id: string) {
  const settled = yield* Effect.flatMap(directoryOf(dir), settle)
  yield* Effect.provide(Permission.revoke(projectID, id), services(settled, settled.agents, "nobody"))
})

/** The rules as a config file has them. */
const asConfig = (suggestions: ReadonlyArray<Suggestion>): string => {
  const permission: Record<string, Record<string, "allow">> = {}
  for (const { pattern, permission: key } of suggestions) (permission[key] ??= {})[pattern] = "allow"
  return JSON.stringify({ permission }, undefined, 2)
}

/** Lists them, with the config that contains them. */
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
      empty: `No request was allowed ${enough} times by hand in this project.`
    })
    if (flags.format === "default" && suggestions.length > 0) {
      const stdio = yield* Stdio
      stdio.out(
        `\nTo stop being asked, add this to your own config or to a trusted skein.json:\n${asConfig(suggestions)}\n`
      )
    }
    return code
  }).pipe(Effect.provide(readableDatabase(flags.db)))
