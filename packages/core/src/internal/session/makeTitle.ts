/** Gives a session its title, once, beside the first turn. */
import { parseRef } from "@skein/domain/Model"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Provider } from "../../Provider.ts"
import { candidates } from "./candidates.ts"
import { change, type Live } from "./live.ts"
import { retryDelay } from "./retryDelay.ts"

/** The longest title, in characters. */
const longest = 80

/** The title of a session that has none. */
export const untitled = "New session"

/** The first words of a prompt: the title until there is a better one. */
export const firstWords = (text: string): string => {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? ""
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** Asks the small model for a title, after the request that the user waits for. Whatever goes wrong leaves the title as it is, and is logged. */
export const makeTitle = Effect.fn("Session.title")(
  function*(live: Live, text: string) {
    yield* live.connected.await
    const agents = yield* Agent
    const provider = yield* Provider
    const journal = yield* Journal
    const { settings } = yield* Config
    const agent = yield* agents.get("title")
    const small = settings.small_model === undefined ? undefined : parseRef(settings.small_model)
    const [ref] = small === undefined ? yield* candidates(live, agent) : [small]
    if (ref === undefined) return
    const model = yield* provider.resolve(ref)
    const gate = (yield* Governor).requests(model)
    let title = ""
    const asking = Effect.timeout(
      model.stream(
        {
          messages: [
            { role: "system", content: agent.prompt ?? "" },
            { role: "user", content: [{ type: "text", text: text.slice(0, 4_000) }] }
          ],
          tools: [],
          toolChoice: "none",
          origin: {
            sessionID: live.info.id,
            rootID: live.info.rootID,
            path: ["title"],
            step: 0,
            directory: live.info.directory,
            purpose: "title"
          }
        },
        (event) => {
          if (event.type === "text-delta") title += event.delta
        }
      ).pipe(
        Effect.tapError((error) => error.retryable ? retryDelay(gate, error, 1, settings.retry) : Effect.void)
      ),
      settings.deadlines.first_event
    )
    yield* gate.send({ rootID: live.info.rootID, urgent: false, queued: () => Effect.void }, asking)
    const clean = firstWords(title.toWellFormed().replaceAll(/^["'\s]+|["'\s]+$/g, ""))
    if (clean === "") return
    const now = yield* Clock.currentTimeMillis
    const write = change(live, now, { title: clean })
    yield* journal.commit([write], [journal.event(live.info, "session.updated", { info: live.info }, now)])
  },
  (effect, live) =>
    Effect.catchAll(
      effect,
      (error) => Effect.logDebug("No title", error.message).pipe(Effect.annotateLogs({ session: live.info.id }))
    )
)
