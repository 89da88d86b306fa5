/** Provides what runs for a session with the services of its project: that of its root's directory. */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { ProjectServices } from "../../Projects.ts"
import { SessionTable } from "./SessionTable.ts"

/** Runs it with the current services; they stay the same until it ends. Holds the session's tree meanwhile. */
export const inProject = <A, E, R>(
  live: { readonly info: Pick<SessionInfo, "rootID"> },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, ProjectServices> | SessionTable> =>
  Effect.flatMap(SessionTable, (table) => table.inProject(live, effect))
