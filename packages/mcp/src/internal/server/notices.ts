/** Says what is wrong with servers: to people once for each cause, and to the log each time. */
import * as Effect from "effect/Effect"
import type { Target } from "./connect.ts"

/** Says something of one server. */
interface Notice {
  /** To the log. */
  readonly say: (message: string, what: string) => Effect.Effect<void>
  /** To people too: why its tools are not there. */
  readonly tell: (message: string, what: string) => Effect.Effect<void>
}

/** What people know about all servers. */
export interface Notices {
  readonly of: (server: Pick<Target, "directory" | "name">) => Notice
}

/** Makes it, for a process. */
export const makeNotices = (): Notices => {
  const said = new Set<string>()
  return {
    of: ({ directory, name }) => {
      const say = (message: string, what: string) =>
        Effect.annotateLogs(Effect.logWarning(message, what), { directory })
      return {
        say,
        tell: (message, what) =>
          Effect.suspend(() => {
            // Last words may contain the time or the id of a process, and are the same cause all the same.
            const cause = JSON.stringify([name, directory, message, what.replaceAll(/\d+/g, "0")])
            if (said.has(cause)) return say(message, what)
            said.add(cause)
            return Effect.annotateLogs(say(message, `${what}.`), { notice: true })
          })
      }
    }
  }
}
