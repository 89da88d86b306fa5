/** What `skein cluster status` does. */
import { DataDirs } from "@skein/config/DataDirs"
import { isPostgres } from "@skein/storage/PostgresUrl"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { printList } from "./print.ts"

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`

/** Lists the runners. */
export const listRunners = ({ flags }: {
  readonly flags: {
    readonly format: "default" | "json"
    readonly full: boolean
    readonly db: string | undefined
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { database } = yield* DataDirs
    if (!isPostgres(database)) {
      return yield* new UsageError({
        message:
          "A cluster shares a PostgreSQL database, and this is a file: set SKEIN_DB=postgres://user@host/database."
      })
    }
    const { clusterStatus } = yield* Effect.promise(() => import("@skein/cluster/ClusterStatus"))
    const runners = yield* clusterStatus(Redacted.make(database))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: runners,
      head: ["URL", "HOST", "PID", "STATE", "TREES", "SINCE", "SEEN"],
      rows: runners.map(({ age, host, pid, silence, state, trees, url }) => [
        url,
        host,
        String(pid),
        state,
        String(trees),
        seconds(age),
        `${seconds(silence)} ago`
      ]),
      empty: "No server is in this cluster. Start one: skein serve --cluster"
    })
  }).pipe(Effect.provide(platform({ database: flags.db })))
