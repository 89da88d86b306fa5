/** Opens sessions for a terminal: what was said in them before, and what happens from now on. */
import { Backend } from "@skein/backend/Backend"
import { connectionText, type Watcher } from "@skein/backend/Watching"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import { phaseOf } from "@skein/view/Activity"
import { historyOf } from "@skein/view/AgentNode"
import { AgentTree } from "@skein/view/AgentTree"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Moment } from "../../LiveView.ts"
import type { SessionModel } from "../model/SessionModel.ts"

/** How much of a session is printed when it is opened, in lines, and how many messages are read for that. */
const shown = { lines: 200, messages: 120 }

/** How many agents at work are asked for the calls that they are in the middle of, and how many messages of each. */
const looked = { agents: 20, messages: 20 }

/** What came while a session was read, and how far it was read. */
class Watched {
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
const makeRestore = (model: SessionModel, backend: typeof Backend.Service, touch: () => void) =>
  Effect.fnUntraced(function*(id: SessionID, watched: Watched) {
    const { items: messages } = yield* backend.sessions.messages(id, { newest: shown.messages })
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
          backend.sessions.messages(node.id, { newest: looked.messages }),
          ({ items }) => live.tree.recall(historyOf(node.id, items))
        ),
      {
        concurrency: 4,
        discard: true
      }
    )
    touch()
  })

/** Shows the state of the connection. */
const makeConnection =
  (model: SessionModel, touch: () => void): NonNullable<Watcher["connection"]> => (now, server) => {
    model.facts.isAway = now === "lost"
    model.facts.server = server.url
    model.say(connectionText(now, server))
    touch()
  }

/** Shows which server answers. It may have been found while a request was sent, and not by a stream. */
const makeLearnServer = (
  model: SessionModel,
  backend: typeof Backend.Service,
  connection: ReturnType<typeof makeConnection>
) =>
  Effect.sync(() => {
    const { where } = backend
    if (where._tag === "Local" || where.url === model.facts.server) return
    connection("back", { url: where.url, isOther: true })
  })

/** Makes what opens sessions. Only one is open at a time. */
export const makeWatching = (model: SessionModel, moment: () => Moment, touch: () => void) =>
  Effect.gen(function*() {
    const backend = yield* Backend
    const restore = makeRestore(model, backend, touch)
    const connection = makeConnection(model, touch)
    const learnServer = makeLearnServer(model, backend, connection)
    let scope: Scope.CloseableScope | undefined
    yield* Effect.addFinalizer((exit) =>
      Effect.suspend(() => scope === undefined ? Effect.void : Scope.close(scope, exit))
    )

    const fresh = Effect.gen(function*() {
      if (scope !== undefined) yield* Scope.close(scope, Exit.void)
      return scope = yield* Scope.make()
    })

    /** Opens a session that is there; of a task, the session that it belongs to. */
    const open = Effect.fnUntraced(function*(given: SessionID) {
      const found = yield* backend.sessions.get(given)
      const session = found.parentID === undefined ? found : yield* backend.sessions.get(found.rootID)
      const mine = yield* fresh
      const watched = new Watched()
      const missed = yield* Effect.makeLatch()
      let isOpen = false
      yield* backend.watch.tree(session.id, {
        event: (event) => {
          if (!watched.holds(event) && model.see(event)) touch()
        },
        snapshot: (snapshot) => {
          const tree = AgentTree.of(snapshot)
          if (!isOpen) {
            model.begin(session, moment().now, tree)
          } else {
            watched.hold()
            missed.unsafeOpen()
          }
          isOpen = true
          model.renew(snapshot, tree)
          touch()
        },
        connection
      }).pipe(Scope.extend(mine))
      yield* learnServer
      yield* restore(session.id, watched)
      const again = Effect.zipRight(
        missed.await,
        Effect.zipRight(
          missed.close,
          Effect.catchAll(restore(session.id, watched), ({ message }) => Effect.sync(() => model.fail(message)))
        )
      )
      yield* Effect.forkIn(Effect.forever(again), mine)
      if (found !== session) model.say(`${given} is a task of this session: Ctrl+T shows it.`)
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
      yield* learnServer
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
