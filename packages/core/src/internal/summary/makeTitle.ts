/** Gives a session its title, once, alongside the first turn. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import type { Live } from "../live/Live.ts"
import { askHidden } from "../model/askHidden.ts"

/** The longest title, in characters. */
const longest = 80

/** The title of a session that has none. */
export const untitled = "New session"

/** The first words of a prompt: the title until there is a better one. */
export const firstWords = (text: string): string => {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? ""
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** Asks for a title, after the request that the user waits for. Failures are logged and leave the title as it is. */
export const makeTitle = Effect.fn("Session.title")(
  function*(live: Live, text: string) {
    yield* live.connected.await
    const journal = yield* Journal
    const title = yield* askHidden(live, { purpose: "title", text: text.slice(0, 4_000), urgent: false })
    const clean = firstWords(title.replaceAll(/^["'\s]+|["'\s]+$/g, ""))
    if (clean === "") return
    const now = yield* Clock.currentTimeMillis
    const write = live.record.change(now, { title: clean })
    yield* journal.commit([write])
  },
  (effect, live) =>
    Effect.catchAll(
      effect,
      (error) => Effect.logDebug("No title", error.message).pipe(Effect.annotateLogs({ session: live.info.id }))
    )
)
