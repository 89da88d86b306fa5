/** Owns one tree: a snapshot, and the events after it. */
import { signal } from "@preact/signals"
import type { TreeTimeline } from "@skein/api/Output"
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts } from "@skein/domain/Part"
import type { TreePage, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { AgentTree } from "@skein/view/AgentTree"
import { PendingAsks } from "@skein/view/PendingAsks"
import { Timeline } from "@skein/view/Timeline"
import { Transcripts } from "@skein/view/Transcripts"
import { confirm, reconcile } from "./actions.ts"
import { ask, askPages, messageOf } from "./api.ts"
import { coalesce } from "./clock.ts"
import { EventConnection } from "./stream.ts"

interface MessagesPage {
  readonly items: ReadonlyArray<MessageWithParts>
  readonly next?: string
}

/** One tree. */
export class TreeStore {
  /** Increases with each change that has to be drawn. */
  readonly revision = signal(0)
  /** Increases with each change of the open transcript. */
  readonly said = signal(0)
  readonly problem = signal<string | undefined>(undefined)
  readonly asks = new PendingAsks()
  readonly transcripts = new Transcripts()
  readonly connection: EventConnection
  readonly id: string
  tree: AgentTree | undefined
  timeline = new Timeline()
  /** The session of the open transcript. */
  #reading: string | undefined
  readonly readingProblem = signal<string | undefined>(undefined)
  readonly #draw = coalesce(() => this.revision.value++)
  readonly #drawSaid = coalesce(() => this.said.value++)

  constructor(id: string) {
    this.id = id
    this.connection = new EventConnection({
      prepare: (ended) => this.#load(ended),
      opened: () => this.#reread(),
      wants: () => true,
      see: (event) => this.#see(event),
      refused: ({ message }) => this.problem.value = message
    })
  }

  /** Opens the transcript of a session, and closes the previous one. */
  read(sessionID: string | undefined): void {
    if (sessionID === this.#reading) return
    if (this.#reading !== undefined) this.transcripts.close(this.#reading)
    this.#reading = sessionID
    this.readingProblem.value = undefined
    this.#reread()
  }

  /** Closes it. */
  close(): void {
    this.connection.close()
  }

  async #load(ended: AbortSignal): Promise<string> {
    const pages = await askPages<TreePage>(`/v1/sessions/${this.id}/tree`, ended)
    const [first] = pages as readonly [TreePage]
    // Events after the first page that another one already shows arrive once more, which does no harm.
    const snapshot: TreeSnapshot = {
      ...first,
      sessions: pages.flatMap(({ sessions }) => sessions),
      tasks: pages.flatMap(({ tasks }) => tasks),
      asks: pages.flatMap(({ asks }) => asks)
    }
    this.tree = AgentTree.of(snapshot)
    this.asks.replace(snapshot.asks)
    this.transcripts.forgetGrowing()
    reconcile((about) => !snapshot.asks.some(({ id }) => id === about) && !this.#works(about))
    this.#draw()
    const histories = await askPages<typeof TreeTimeline.Type>(`/v1/sessions/${this.id}/timeline`, ended)
    const timeline = new Timeline()
    for (const each of histories.flatMap(({ sessions }) => sessions)) {
      this.tree?.recall(each)
      for (const span of each.spans) timeline.put(each.sessionID, span)
    }
    this.timeline = timeline
    this.#draw()
    // The timeline was read after the tree.
    return `/v1/sessions/${this.id}/events?from=${snapshot.seq}`
  }

  #works(about: string): boolean {
    const state = this.tree?.node(about)?.state.type
    return state !== undefined && state !== "settled" && state !== "idle"
  }

  #reread(): void {
    const id = this.#reading
    if (id === undefined || this.connection.state.value !== "live") return
    void this.#readMessages(id)
  }

  async #readMessages(id: string): Promise<void> {
    try {
      const found: Array<MessageWithParts> = []
      let cursor: string | undefined = ""
      while (cursor !== undefined) {
        const page: MessagesPage = await ask<MessagesPage>("GET", `/v1/sessions/${id}/messages${cursor}`)
        if (this.#reading !== id) return
        found.push(...page.items)
        cursor = page.next === undefined ? undefined : `?cursor=${encodeURIComponent(page.next)}`
      }
      this.transcripts.open(id, found)
      this.readingProblem.value = undefined
    } catch (error) {
      if (this.#reading === id) this.readingProblem.value = messageOf(error)
    }
    this.#drawSaid()
  }

  #see(event: Event): void {
    confirm(event)
    this.asks.see(event)
    if (this.transcripts.see(event)) this.#drawSaid()
    const isLonger = this.timeline.see(event)
    if (this.tree?.see(event) === true || isLonger) this.#draw()
  }
}
