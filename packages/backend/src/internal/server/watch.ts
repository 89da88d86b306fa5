/** Watches trees of a server through its event stream, which continues where it was cut off. */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as EventStream from "@skein/client/EventStream"
import type { SkeinClient } from "@skein/client/SkeinClient"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { BackendError } from "../../BackendError.ts"
import type { Connection, Watcher, Watching } from "../../Watching.ts"
import { failure } from "./failure.ts"
import type { Link } from "./Link.ts"

const deltas: ReadonlySet<string> = new Set(["message.part.delta"])

/** A watcher of a tree, and its position. */
class Watch {
  #seq: number
  readonly #watcher: Watcher
  readonly #waiting = new Map<() => void, number>()
  #connection: Connection = "back"
  /** The server of the last stream. */
  #url: string

  constructor(watcher: Watcher, seq: number, url: string) {
    this.#watcher = watcher
    this.#seq = seq
    this.#url = url
  }

  hear(event: Event): void {
    if (event.seq !== undefined && event.seq <= this.#seq) return
    this.#watcher.event(event)
    if (event.seq !== undefined) this.#reach(event.seq)
  }

  show(tree: TreeSnapshot, reason: string): void {
    this.#watcher.snapshot?.(tree)
    this.#watcher.missed?.(reason)
    this.#reach(tree.seq)
  }

  connected(now: Exclude<Connection, "back">): void {
    if (now === this.#connection) return
    this.#connection = now
    this.#watcher.connection?.(now, { url: this.#url, isOther: false })
  }

  /** A stream has begun at this server. */
  opened(url: string): void {
    const isOther = url !== this.#url
    if (this.#connection !== "lost" && !isOther) return
    this.#url = url
    this.#connection = "back"
    this.#watcher.connection?.("back", { url, isOther })
  }

  get isLost(): boolean {
    return this.#connection === "lost"
  }

  /** The server is there, and says how its storage does. */
  beat(isStorageAway: boolean): void {
    if (isStorageAway) this.connected("storage away")
    else if (this.#connection === "storage away") this.connected("storage back")
  }

  /** Waits until everything up to this event was delivered. */
  heard(seq: number): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const release = () => resume(Effect.void)
      if (this.#seq >= seq) return release()
      this.#waiting.set(release, seq)
      return Effect.sync(() => this.#waiting.delete(release))
    })
  }

  #reach(seq: number): void {
    this.#seq = seq
    for (const [release, wanted] of this.#waiting) {
      if (seq < wanted) continue
      this.#waiting.delete(release)
      release()
    }
  }
}

/** Ways to watch, and to wait until all watchers have the latest events. */
export interface ServerWatching extends Watching {
  readonly caughtUp: (id: SessionID) => Effect.Effect<void>
}

/** Reads a tree, a page of sessions at a time. It stays at the `seq` of the first: later events do no harm again. */
const treeOf = ({ call }: Link) =>
  Effect.fnUntraced(function*(id: SessionID) {
    const read = (cursor?: string) =>
      call("may be sent again", ({ sessions }) => sessions.tree({ path: { id }, urlParams: { cursor } }))
    let { next, ...tree } = yield* read()
    while (next !== undefined) {
      const page = yield* read(next)
      tree = {
        ...tree,
        sessions: [...tree.sessions, ...page.sessions],
        tasks: [...tree.tasks, ...page.tasks],
        asks: [...tree.asks, ...page.asks]
      }
      next = page.next
    }
    return tree
  })

const positionOf = (id: SessionID) => ({ sessions }: SkeinClient) => sessions.position({ path: { id } })

/** A stream of a cluster also ends when the server that works in the tree goes away, and the one that was asked is there. */
const brokenAt = ({ isThere, silence }: Link, watch: Watch, url: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (silence.isAt(url)) watch.connected("lost")
    return watch.isLost ? Effect.void : Effect.map(isThere, (is) => is ? undefined : watch.connected("lost"))
  })

const isRefused = (cause: Cause.Cause<BackendError>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => "reason" in error && error.reason === "token")

const refused = (error: EventStream.StreamRefused | BackendError): BackendError =>
  error._tag === "StreamRefused"
    ? failure("ServerRefused", error.message, { reason: error.status === 401 ? "token" : undefined })
    : error

/** Says how a stream has ended. */
const ended = (watch: Watch, opened: Deferred.Deferred<void, BackendError>) => (exit: Exit.Exit<void, BackendError>) =>
  Effect.sync(() => {
    if (Exit.isSuccess(exit)) return
    // A watcher that stops has lost nothing.
    if (!Exit.isInterrupted(exit)) watch.connected(isRefused(exit.cause) ? "refused" : "lost")
    Deferred.unsafeDone(opened, Exit.failCause(exit.cause))
  })

/** Where a stream comes from. */
const makePlace = (link: Link) => {
  let { url } = link.where()
  return {
    url: () => url,
    locate: Effect.map(link.locate, (found) => {
      url = Option.isSome(found) ? found.value.url : url
      return found
    }).pipe(Effect.mapError(({ message }) => new EventStream.StreamRefused({ status: 401, message })))
  }
}

/** Makes them. */
export const makeWatching = (link: Link, http: Context.Context<HttpClient.HttpClient>): ServerWatching => {
  const watches = new Map<Watch, SessionID>()

  const snapshot = treeOf(link)
  const position = (id: SessionID) => link.call("may be sent again", positionOf(id))

  const follow = Effect.fnUntraced(function*(rootID: SessionID, watcher: Watcher, from: number) {
    const { locate, url } = makePlace(link)
    const watch = new Watch(watcher, from, url())
    yield* link.learning
    yield* Effect.acquireRelease(
      Effect.sync(() => watches.set(watch, rootID)),
      () => Effect.sync(() => watches.delete(watch))
    )
    const opened = yield* Deferred.make<void, BackendError>()
    const streaming = (after: number): Effect.Effect<void, EventStream.StreamRefused | BackendError> =>
      EventStream.events({
        ...link.where(),
        locate,
        session: rootID,
        from: String(after),
        ...(watcher.deltas === false ? { without: deltas } : {}),
        onOpen: Effect.zipRight(Deferred.succeed(opened, undefined), Effect.sync(() => watch.opened(url()))),
        onBroken: Effect.suspend(() => brokenAt(link, watch, url())),
        onData: Effect.sync(() => link.silence.heard(url())),
        silent: link.silence.of,
        onHeartbeat: (isStorageAway) => Effect.sync(() => watch.beat(isStorageAway))
      }).pipe(
        Stream.takeUntil((each) => each._tag === "Reset" && each.reason !== "too_slow"),
        Stream.runFoldEffect("", (_, each) => {
          if (each._tag === "Reset") return Effect.succeed(each.reason)
          return Effect.as(heeding(watcher, () => watch.hear(each.event)), "")
        }),
        Effect.provide(http),
        // Events are missing. The current tree replaces them.
        Effect.flatMap((reason) =>
          Effect.flatMap(snapshot(rootID), (tree) => {
            watch.show(tree, reason)
            return streaming(tree.seq)
          })
        )
      )
    yield* Effect.forkScoped(Effect.onExit(Effect.mapError(streaming(from), refused), ended(watch, opened)))
    yield* Deferred.await(opened)
    return watch
  })

  return {
    snapshot,
    tree: (id, watcher) =>
      watcher.snapshot === undefined
        ? Effect.flatMap(position(id), ({ rootID, seq }) => Effect.asVoid(follow(rootID, watcher, seq)))
        : Effect.flatMap(snapshot(id), (tree) => {
          watcher.snapshot?.(tree)
          return Effect.asVoid(follow(tree.rootID, watcher, tree.seq))
        }),
    made: (making, watcher) => Effect.tap(making, ({ rootID }) => follow(rootID, watcher, 0)),
    caughtUp: (id) =>
      Effect.suspend(() =>
        watches.size === 0 ? Effect.void : Effect.flatMap(
          position(id),
          ({ rootID, seq }) =>
            Effect.forEach(watches, ([watch, of]) => of === rootID ? watch.heard(seq) : Effect.void, {
              discard: true
            })
        ).pipe(
          // A watcher that has not caught up by then is disconnected, and is notified of that.
          Effect.timeoutOption(link.patience),
          Effect.ignoreLogged
        )
      )
  }
}

/** Stops reading while the watcher waits for its own slow reader. */
const heeding = ({ pressure }: Watcher, hear: () => void): Effect.Effect<void> =>
  Effect.suspend(() => {
    hear()
    return pressure?.isFull() === true ? pressure.relieved : Effect.void
  })
