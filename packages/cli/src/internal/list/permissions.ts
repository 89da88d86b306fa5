/** What `skein permissions` does. */
import { Permission } from "@skein/core/Permission"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import type { Stdio } from "../../Stdio.ts"
import { platform, services, settle, storage } from "../app.ts"
import { directoryOf, projectOf } from "../place.ts"
import { formatTime, printList } from "./print.ts"

interface Place {
  readonly dir: string | undefined
  readonly db: string | undefined
}

const database = ({ db }: Place) => Layer.provideMerge(storage, platform({ database: db }))

/** Lists what was allowed. */
export const listPermissions = ({ flags }: {
  readonly flags: Place & { readonly format: "default" | "json" }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const projectID = yield* Effect.flatMap(directoryOf(flags.dir), projectOf)
    const approvals = yield* Effect.flatMap(SessionStorage, (store) => store.approvals(projectID))
    return yield* printList({
      format: flags.format,
      json: approvals,
      head: ["ID", "SINCE", "PERMISSION", "PATTERN"],
      rows: approvals.map(({ created, id, pattern, permission }) => [id, formatTime(created), permission, pattern]),
      empty:
        "Nothing was allowed for this project beyond what its rules say. Answers of \"always in this project\" are listed here."
    })
  }).pipe(Effect.provide(database(flags)))

/** Takes one back. */
export const revokePermission = ({ flags, operands: [id = ""] }: {
  readonly flags: Place
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const directory = yield* directoryOf(flags.dir)
    const projectID = yield* projectOf(directory)
    const settled = yield* settle(directory)
    yield* Effect.provide(
      Effect.flatMap(Permission, (permission) => permission.revoke(projectID, id)),
      services(settled, settled.agents, "nobody")
    )
    return ExitCode.done
  }).pipe(Effect.provide(database(flags)))
