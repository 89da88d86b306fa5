/** Gives what runs for a session the services of its project: those of the directory of its root. */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { ProjectServices } from "../../Project.ts"
import { SessionTable } from "./SessionTable.ts"

/** Runs it with the services as they are now; they stay the same until it ends. The tree of the session is held meanwhile. */
export const inProject = <A, E, R>(
  live: { readonly info: Pick<SessionInfo, "rootID"> },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, ProjectServices> | SessionTable> =>
  Effect.flatMap(SessionTable, (table) => table.inProject(live, effect))
