/** Opens sessions for a terminal: what was said in them before, and what happens from now on. */
import { Backend } from "@skein/backend/Backend"
import type { Watcher } from "@skein/backend/Watching"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { AgentTree } from "@skein/view/AgentTree"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { dialogOf } from "../../Dialog.ts"
import type { Moment } from "../../LiveView.ts"
import { Transcript } from "../calls/transcript.ts"
import type { SessionModel } from "../model/SessionModel.ts"

/** How much of a session is printed when it is opened, in lines, and how many messages are read for that. */
const shown = { lines: 200, messages: 120, isWhole: false }

/** A message as if it had just been told. */
const eventsOf = ({ info, parts }: MessageWithParts, session: SessionInfo): ReadonlyArray<Event> => {
  const base = {
    id: "evt_0" as Event["id"],
    timestamp: info.time.created,
    sessionID: session.id,
    rootID: session.rootID,
    depth: session.depth
  }
  return [
    { ...base, type: "message.updated", properties: { info } },
    ...parts.map((part): Event => ({ ...base, type: "message.part.updated", properties: { part } }))
  ]
}

/** The last lines of what was said in a session. */
export const linesOf = (
  session: SessionInfo,
  messages: ReadonlyArray<MessageWithParts>,
  style: SessionModel["style"],
  columns: number,
  most = shown
): ReadonlyArray<string> => {
  const transcript = new Transcript(session.id, style, () => columns, { showsPrompts: true, isWhole: most.isWhole })
  for (const message of messages.slice(-most.messages)) {
    for (const event of eventsOf(message, session)) transcript.see(event)
  }
  return transcript.finish().slice(-most.lines)
}

/** Makes what opens sessions. Only one is open at a time. */
export const makeWatching = (model: SessionModel, moment: () => Moment, touch: () => void, columns: () => number) =>
  Effect.gen(function*() {
    const backend = yield* Backend
    let scope: Scope.CloseableScope | undefined
    yield* Effect.addFinalizer((exit) =>
      Effect.suspend(() => scope === undefined ? Effect.void : Scope.close(scope, exit))
    )

    const fresh = Effect.gen(function*() {
      if (scope !== undefined) yield* Scope.close(scope, Exit.void)
      return scope = yield* Scope.make()
    })

    const connection: NonNullable<Watcher["connection"]> = (now) => {
      model.facts.isAway = now === "lost"
      if (backend.where._tag === "Server") model.facts.server = backend.where.url
      model.say(now === "lost" ? "The connection to the server is lost. Trying again …" : "The server is there again.")
      touch()
    }

    /** Opens a session that is there. */
    const open = Effect.fnUntraced(function*(id: SessionID) {
      const session = yield* backend.sessions.get(id)
      const mine = yield* fresh
      const held: Array<Event> = []
      let isReady = false
      yield* backend.watch.tree(id, {
        event: (event) => {
          if (!isReady) held.push(event)
          else if (model.see(event)) touch()
        },
        snapshot: (snapshot) => {
          const tree = AgentTree.of(snapshot)
          model.begin(session, moment().now, tree)
          for (const ask of snapshot.asks) model.ask(dialogOf(ask))
          touch()
        },
        connection
      }).pipe(Scope.extend(mine))
      const messages = yield* backend.sessions.messages(id)
      model.print(linesOf(session, messages, model.style, columns()))
      const last = messages.findLast(({ info }) => info.role === "assistant")
      if (last?.info.role === "assistant") {
        const { cacheRead, cacheWrite, input, output } = last.info.usage.tokens
        model.used = input + output + cacheRead + cacheWrite
      }
      isReady = true
      for (const event of held) model.see(event)
      touch()
    })

    /** Makes a session, and watches it from its first event. */
    const make = Effect.fnUntraced(function*(options: Parameters<typeof backend.sessions.create>[0]) {
      const mine = yield* fresh
      const session = yield* backend.watch.made(backend.sessions.create(options), {
        event: (event) => {
          if (event.type === "session.created" && event.depth === 0) model.begin(event.properties.info, moment().now)
          if (model.see(event)) touch()
        },
        connection
      }).pipe(Scope.extend(mine))
      if (model.live?.tree.root.id !== session.id) model.begin(session, moment().now)
      return session
    })

    /** Closes what is open. */
    const close = Effect.suspend(() => scope === undefined ? Effect.void : Scope.close(scope, Exit.void)).pipe(
      Effect.zipRight(Effect.sync(() => {
        scope = undefined
        model.leave()
        touch()
      }))
    )
    return { open, make, close }
  })
