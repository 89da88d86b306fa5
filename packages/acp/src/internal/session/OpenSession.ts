/** A session that the client has opened: what the client knows about it, and what it waits for. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { connectionText, type Watcher } from "@skein/backend/Watching"
import type { Event } from "@skein/domain/Event"
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { PendingAsk, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type Change, Projection } from "../../Projection.ts"
import type { Asking } from "../asking.ts"
import type { Client } from "../connection/Client.ts"
import { flat } from "../encode/flat.ts"
import { nested } from "../encode/nested.ts"

/** A prompt of this client that has no answer yet. */
export interface Flight {
  /** Done once the client cancels it. */
  readonly cancelled: Deferred.Deferred<void>
  /** Done once it has ended, and has stopped its tree if it was cancelled. */
  readonly over: Deferred.Deferred<void>
}

/** What the session is opened with. */
interface Opening {
  readonly client: Client
  readonly asking: Asking
  readonly backend: typeof Backend.Service
  readonly root: SessionID
  readonly directory: string
  readonly contextOf: (model: string) => number | undefined
  /** Hears that mode, agent or model have changed. */
  readonly onSettings: (session: OpenSession) => void
  /** Hears that events are missing: what has happened has to be read. */
  readonly onGap: (session: OpenSession) => void
}

/** How long an answer waits for the events that came before it, in milliseconds. */
const patience = 5_000

/** The session. */
export class OpenSession {
  readonly root: SessionID
  readonly directory: string
  readonly projection = new Projection()
  /** The prompts without an answer. */
  readonly flights = new Set<Flight>()
  /** What cancels are still stopping. A prompt that comes after them waits for it, so that they do not stop that too. */
  readonly stopping = new Set<Deferred.Deferred<void>>()
  /** The settings as the client knows them, as JSON. */
  settings = ""
  /** Sent as soon as the client knows the session. */
  readonly later: Array<string> = []
  /** The model for the prompts from now on; undefined for the one that the session has. */
  model: ModelRef | undefined
  readonly #opening: Opening
  readonly #encoder
  readonly #own = new Set<MessageID>()
  #asks: Array<PendingAsk> = []
  #isRestored = false
  #storing = 0
  #seq = 0
  #held: Array<Event> | undefined
  readonly #waiting = new Set<{ readonly seq: number; readonly there: Deferred.Deferred<void> }>()

  constructor(opening: Opening) {
    const { client, contextOf, directory, root } = opening
    this.root = root
    this.directory = directory
    this.#opening = opening
    const { session, subagents } = client.capabilities
    const facts = { directory, contextOf, compaction: session?.compaction !== undefined && session.compaction !== null }
    this.#encoder = subagents === undefined || subagents === null ? flat(root, facts) : nested(facts)
  }

  /** Whether the client knows subagents. */
  get isNested(): boolean {
    return this.#encoder.isNested
  }

  /** What watches the tree. */
  readonly watcher: Watcher = {
    snapshot: (tree) => this.#restore(tree),
    event: (event) => {
      if (this.#held === undefined) this.see(event)
      else this.#held.push(event)
      if (event.seq !== undefined) this.passed(event.seq)
    },
    connection: (now, server) => this.note(connectionText(now, server))
  }

  /** Takes over the present state of the tree. */
  #restore(tree: TreeSnapshot): void {
    this.projection.restore(tree)
    // What a process that has ended asked is asked again once the tree is resumed.
    this.#asks = tree.asks.filter(({ abandoned }) => abandoned !== true)
    this.passed(tree.seq)
    if (this.#isRestored) this.#opening.onGap(this)
    this.#isRestored = true
  }

  /** Asks the client what waited before it was there. */
  askAgain(): void {
    for (const ask of this.#asks.splice(0)) {
      const asked = ask.type === "permission"
        ? { kind: ask.type, request: ask } as const
        : { kind: ask.type, request: ask } as const
      for (const change of this.projection.asked(asked)) this.tell(change)
    }
  }

  /** All events up to this one have been seen. */
  passed(seq: number): void {
    this.#seq = Math.max(this.#seq, seq)
    for (const waits of this.#waiting) {
      if (waits.seq <= this.#seq) Deferred.unsafeDone(waits.there, Effect.void)
    }
  }

  /** Keeps events back until `release`. */
  hold(): void {
    this.#held ??= []
  }

  /** Tells what was kept back, and everything from now on at once. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const event of held) this.see(event)
  }

  /** Tells the client what an event means to it. */
  see(event: Event): void {
    for (const change of this.projection.see(event)) this.tell(change)
  }

  /** Tells the client a change. */
  tell(change: Change): void {
    const { asking, client, onSettings } = this.#opening
    if (this.#isEcho(change)) return
    for (const update of this.#encoder.encode(change)) client.tell(update)
    if (change.type === "replied") asking.over(change.id)
    if (change.type === "settings") onSettings(this)
    if (change.type === "asked") this.ask(change)
  }

  /** Asks the client. */
  ask({ ask, call, session }: Pick<Extract<Change, { readonly type: "asked" }>, "ask" | "call" | "session">): void {
    this.#opening.asking.ask({ ask, call, session: this.#encoder.sessionOf(session), directory: this.directory })
  }

  /** A word of Skein itself: as a notice where the client shows those, else as text. */
  note(text: string): void {
    const { client } = this.#opening
    const isNotice = client.capabilities.session?.notices !== undefined && client.capabilities.session.notices !== null
    client.tell({
      sessionId: this.root,
      update: isNotice
        ? { sessionUpdate: "notice", severity: "info", title: text }
        : { sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${text}\n\n` } }
    })
  }

  /** Tells the client nothing new: only what is written shows that nobody reads it any more. */
  probe(): void {
    this.#opening.client.tell({ sessionId: this.root, update: { sessionUpdate: "session_info_update" } })
  }

  /** Stores a prompt of this client, and does not send it back to the client. */
  storing<A extends { readonly messageID: MessageID }, E>(prompting: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.#storing++
      return Effect.ensuring(
        Effect.tap(prompting, ({ messageID }) => Effect.sync(() => this.#own.add(messageID))),
        Effect.sync(() => this.#storing--)
      )
    })
  }

  /** Waits, for a bounded time, until the client has got everything that has happened so far. */
  get caughtUp(): Effect.Effect<void, BackendError> {
    return Effect.gen(this, function*() {
      const { seq } = yield* this.#opening.backend.watch.snapshot(this.root)
      if (seq <= this.#seq) return
      const waits = { seq, there: yield* Deferred.make<void>() }
      this.#waiting.add(waits)
      yield* Effect.ensuring(
        Effect.timeoutOption(Deferred.await(waits.there), patience),
        Effect.sync(() => this.#waiting.delete(waits))
      )
    })
  }

  /** Whether a text is what this client has just written itself. */
  #isEcho(change: Change): boolean {
    if ((change.type !== "text" || change.by !== "person") && change.type !== "file") return false
    return change.session === this.root && (this.#storing > 0 || this.#own.has(change.message as MessageID))
  }
}
