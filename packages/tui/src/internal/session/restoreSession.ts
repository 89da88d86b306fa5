/** Reads a session that is opened, or of which events were missed: what was said, and what its agents do just now. */
import type { Backend } from "@skein/backend/Backend"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import { phaseOf } from "@skein/view/Activity"
import { historyOf } from "@skein/view/AgentHistory"
import * as Effect from "effect/Effect"
import type { SessionModel } from "../model/SessionModel.ts"

/** How much of a session is printed when it is opened, in lines, and how many messages are read for that. */
const shown = { lines: 200, messages: 120 }

/** How many agents at work are asked for the calls that they are in the middle of, and how many messages of each. */
const looked = { agents: 20, messages: 20 }

/** What came while a session was read, and how far it was read. */
export class Watched {
  #held: Array<Event> | undefined = []
  #last = ""

  /** What happens from now on waits until the session was read. */
  hold(): void {
    this.#held ??= []
  }

  /** Whether an event has to wait. Pieces of text are part of what was stored, or of what is published next. */
  holds(event: Event): boolean {
    if (this.#held === undefined) return false
    if (event.type !== "message.part.delta") this.#held.push(event)
    return true
  }

  /** What has waited. */
  release(): ReadonlyArray<Event> {
    const held = this.#held ?? []
    this.#held = undefined
    return held
  }

  /** The messages that were not read before, and the last one that was: it may have grown. */
  news(messages: ReadonlyArray<MessageWithParts>): ReadonlyArray<MessageWithParts> {
    const last = this.#last
    this.#last = messages.at(-1)?.info.id ?? last
    return messages.filter(({ info }) => info.id >= last)
  }
}

/** Makes what reads what was said and what agents at work do just now, and then takes in what has happened meanwhile. */
export const makeRestore = (model: SessionModel, backend: typeof Backend.Service, touch: () => void) =>
  Effect.fnUntraced(function*(id: SessionID, watched: Watched) {
    const messages = yield* backend.sessions.messages(id, { limit: shown.messages })
    model.recall(watched.news(messages), shown.lines)
    for (const event of watched.release()) model.see(event)
    touch()
    const { live } = model
    if (live === undefined) return
    live.tree.recall(historyOf(id, messages))
    const busy = live.tree.all.filter((node) => node.id !== id && phaseOf(node) === "working" && !node.isDeleted)
    yield* Effect.forEach(
      busy.slice(0, looked.agents),
      (node) =>
        Effect.map(
          backend.sessions.messages(node.id, { limit: looked.messages }),
          (said) => live.tree.recall(historyOf(node.id, said))
        ),
      {
        concurrency: 4,
        discard: true
      }
    )
    touch()
  })
