/** What `skein mcp list` does. */
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import { platform } from "../app.ts"
import { printList } from "../list/print.ts"
import { remark } from "../list/remarks.ts"
import { directoryOf } from "../place.ts"
import { type Configured, configured } from "./configured.ts"

const stateOf = ({ state, trust }: Configured): string => state === "untrusted" ? `needs trust (${trust})` : state

const reachedBy = ({ config: { command, url } }: Configured): string => url ?? command?.join(" ") ?? ""

/** Lists the servers of a directory; it starts none. */
export const listServers = ({ flags }: {
  readonly flags: {
    readonly dir: string | undefined
    readonly format: "default" | "json"
    readonly full: boolean
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { servers, settled } = yield* Effect.flatMap(directoryOf(flags.dir), configured)
    // This list is about servers, so remarks about them are shown in full.
    yield* remark(settled.warnings.map(({ kind, ...issue }) =>
      kind === undefined || (kind === "note" && issue.key?.startsWith("mcp") === true) ? issue : { ...issue, kind }
    ))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: servers,
      head: ["NAME", "STATE", "FROM", "SERVER"],
      rows: servers.map((server) => [server.name, stateOf(server), server.origin, reachedBy(server)]),
      empty: "There are no MCP servers. Add one with `skein mcp add NAME URL` or `skein mcp add NAME -- PROGRAM…`."
    })
  }).pipe(Effect.provide(platform({})))
