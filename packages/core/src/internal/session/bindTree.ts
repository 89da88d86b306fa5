/** Binds a tree that needed no directory to its directory, before an agent works in it that may need it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { needsNoDirectory } from "../../Anywhere.ts"
import { Journal } from "../../Journal.ts"
import { ProjectUnavailable } from "../../Projects.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import type { Live } from "../live/Live.ts"

/** Checks what is to work at the root next. Fails where the directory is not. */
export const bindTree = Effect.fnUntraced(function*(live: Live, agent: string = live.info.agent) {
  if (live.parent !== undefined || live.info.anywhere !== true) return
  if (yield* needsNoDirectory(agent, live.info)) return
  const { directory, host = "" } = live.info
  if (yield* (yield* Whereabouts).isAway(live.info)) {
    return yield* new ProjectUnavailable({
      directory,
      message:
        `The agent ${agent} needs the directory of the session ${live.info.id}, which is ${directory} on the host ${host}. Prompt it on that host, or through a server there, or with an agent that may neither use files nor run commands.`
    })
  }
  const journal = yield* Journal
  // If that is not stored, the tree may still be taken up elsewhere: then memory must not say otherwise.
  yield* Effect.tapError(
    journal.commit([live.record.change(yield* Clock.currentTimeMillis, { anywhere: false })]),
    () => Effect.sync(() => live.record.annotate({ anywhere: true }))
  )
})
