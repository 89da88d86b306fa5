/** Owns the list of all sessions: read once, then kept up to date by the events of all trees. */
import { signal } from "@preact/signals"
import type { RootSession } from "@skein/api/Output"
import type { Event } from "@skein/domain/Event"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { PendingAsks } from "@skein/view/PendingAsks"
import { grouped } from "@skein/view/SessionGroups"
import { confirm, reconcile } from "./actions.ts"
import { askItems } from "./api.ts"
import { coalesce } from "./clock.ts"
import { EventConnection } from "./stream.ts"

const wanted = new Set([
  "session.created",
  "session.updated",
  "session.deleted",
  "session.status",
  "session.idle",
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.replied",
  "subagent.created",
  "subagent.completed",
  "subagent.failed",
  "background_task.started",
  "message.updated"
])

/** The list of all sessions. */
export class HomeStore {
  /** Increases with each change that has to be drawn. */
  readonly revision = signal(0)
  readonly problem = signal<string | undefined>(undefined)
  readonly asks = new PendingAsks()
  readonly connection: EventConnection
  readonly #sessions = new Map<string, RootSession>()
  /** The running sessions below each root, as far as events have shown. */
  readonly #below = new Map<string, Set<string>>()
  #isLoaded = false
  /** Events that arrived while the list was read. */
  #held: Array<Event> | undefined
  readonly #draw = coalesce(() => this.revision.value++)
  #loading = new AbortController()

  constructor() {
    this.connection = new EventConnection({
      prepare: () => {
        this.#held = []
        return Promise.resolve("/v1/events")
      },
      opened: () => void this.#load(),
      wants: (type) => wanted.has(type),
      see: (event) => this.#held === undefined ? this.#see(event) : void this.#held.push(event),
      refused: ({ message }) => this.problem.value = message
    })
  }

  /** Whether the list was read. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** The sessions by what they need. */
  get groups() {
    const perTree = this.asks.perTree
    return grouped([...this.#sessions.values()].map((session) => ({
      session,
      asks: perTree.get(session.id) ?? 0,
      worksBelow: session.unfinished || (this.#below.get(session.id)?.size ?? 0) > 0
    })))
  }

  /** The directories of sessions, the latest first. */
  get directories(): ReadonlyArray<string> {
    const sessions = [...this.#sessions.values()].toSorted((a, b) => b.time.updated - a.time.updated)
    return [...new Set(sessions.map(({ directory }) => directory))].slice(0, 50)
  }

  /** Closes it. */
  close(): void {
    this.#loading.abort()
    this.connection.close()
  }

  /** Reads the whole list. Events that arrive meanwhile are applied after it. */
  async #load(): Promise<void> {
    this.#loading.abort()
    const { signal: ended } = this.#loading = new AbortController()
    try {
      const found = await askItems<RootSession>("/v1/sessions?limit=500", ended)
      const items = await askItems<PendingAsk>("/v1/asks?limit=500", ended)
      this.#sessions.clear()
      this.#below.clear()
      for (const each of found) this.#sessions.set(each.id, each)
      this.asks.replace(items)
      reconcile((about) => !items.some(({ id }) => id === about))
      this.#isLoaded = true
      this.problem.value = undefined
    } catch (error) {
      if (ended.aborted) return
      this.problem.value = error instanceof Error ? error.message : String(error)
    }
    const held = this.#held ?? []
    this.#held = undefined
    for (const event of held) this.#see(event)
    this.#draw()
  }

  #see(event: Event): void {
    confirm(event)
    this.asks.see(event)
    if (event.sessionID === event.rootID) this.#root(event)
    else this.#child(event)
    this.#draw()
  }

  #root(event: Event): void {
    const known = this.#sessions.get(event.sessionID)
    switch (event.type) {
      case "session.created":
      case "session.updated":
        return this.#put(event.properties.info, known)
      case "session.deleted":
        this.#sessions.delete(event.sessionID)
        return
      case "session.status":
        if (known !== undefined) this.#sessions.set(known.id, { ...known, status: event.properties.status })
        return
      case "session.idle":
        if (known !== undefined) {
          this.#sessions.set(known.id, { ...known, status: { type: "idle" }, unfinished: false })
        }
    }
  }

  #put(info: SessionInfo, known: RootSession | undefined): void {
    this.#sessions.set(info.id, {
      ...info,
      status: known?.status ?? { type: "idle" },
      unfinished: known?.unfinished ?? false
    })
  }

  #child(event: Event): void {
    const { rootID, sessionID, type } = event
    const below = this.#below.get(rootID) ?? new Set()
    this.#below.set(rootID, below)
    const isAtWork = event.type === "session.status" && event.properties.status.type !== "idle"
    if (type === "subagent.created" || isAtWork) below.add(sessionID)
    if (type === "subagent.completed" || type === "subagent.failed" || type === "session.deleted") {
      below.delete(sessionID)
      const root = this.#sessions.get(rootID)
      // By now, events show what was running when the list was read.
      if (root?.unfinished === true && below.size === 0) this.#sessions.set(rootID, { ...root, unfinished: false })
    }
  }
}
