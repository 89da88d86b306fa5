/** Collects what a model says in one step into parts. */
import type { Ids, MessageID, PartID } from "@skein/domain/Id"
import type { FinishReason } from "@skein/domain/Message"
import type { Part, ReasoningPart, TextPart, ToolPart } from "@skein/domain/Part"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type { Journal } from "../../Journal.ts"
import type { ModelEvent, ProviderMetadata } from "../../Provider.ts"
import type { EventSource } from "../../Write.ts"

/** A part that a model writes. */
export type Written = TextPart | ReasoningPart | ToolPart

/** What the buffer needs to name, date and publish parts. */
export interface StepBufferOptions {
  readonly source: EventSource
  readonly messageID: MessageID
  readonly ids: Context.Tag.Service<typeof Ids>
  readonly clock: Clock.Clock
  readonly journal: Context.Tag.Service<typeof Journal>
  /** Whether publishing deltas is worthwhile. */
  readonly hasListeners: () => boolean
  /** Called when unstored text has arrived. */
  readonly grown: () => void
}

const emptyOf = ({ id, messageID, sessionID, time, type }: TextPart | ReasoningPart): Written => ({
  id,
  sessionID,
  messageID,
  type,
  text: "",
  ...(time === undefined ? {} : { time: { start: time.start } })
})

/** The growing parts of a step. `emit` is called for each event of the model. */
export class StepBuffer {
  readonly #options: StepBufferOptions
  /** Parts of this try, in the order in which they began. */
  #parts: Array<Written> = []
  #open = new Map<string, number>()
  #changed = new Set<number>()
  /** Ids of an earlier try, to be reused: that replaces its parts, so that no text is kept twice. */
  #spare: { readonly text: Array<PartID>; readonly reasoning: Array<PartID>; readonly tool: Array<PartID> }
  /** How much of each part was published, in UTF-16 units. */
  #publishedLengths: Array<number> = []
  #holds = true
  finish: FinishReason | undefined

  constructor(options: StepBufferOptions) {
    this.#options = options
    this.#spare = { text: [], reasoning: [], tool: [] }
  }

  /** Forgets the parts of a failed try; returns those that may have been published, now empty. */
  restart(): ReadonlyArray<Written> {
    const emptied = this.#parts.flatMap((part) => part.type === "tool" ? [] : [emptyOf(part)])
    for (const part of this.#parts) this.#spare[part.type].push(part.id)
    this.#parts = []
    this.#open = new Map()
    this.#changed = new Set()
    this.#publishedLengths = []
    this.finish = undefined
    return emptied
  }

  /** From now on deltas are held back: a snapshot that is being stored must not be published after later deltas. */
  hold(): void {
    this.#holds = true
  }

  /** Snapshots of these parts were published. */
  markPublished(parts: ReadonlyArray<Part>): void {
    for (const part of parts) {
      const at = this.#parts.findIndex(({ id }) => id === part.id)
      if (at >= 0 && (part.type === "text" || part.type === "reasoning")) this.#publishedLengths[at] = part.text.length
    }
  }

  /** Publishes the deltas that were held back; later ones are published as they arrive. */
  release(): void {
    this.#holds = false
    for (const [at, part] of this.#parts.entries()) {
      const delta = this.#unpublished(part, at)
      if (part.type !== "tool" && delta !== "") this.#tell(at, part, delta)
    }
  }

  /** The parts of this try. */
  get parts(): ReadonlyArray<Written> {
    return this.#parts
  }

  /** The calls that the model asked for, in its order. */
  get calls(): ReadonlyArray<ToolPart> {
    return this.#parts.filter((part) => part.type === "tool")
  }

  /** Parts of failed tries that nothing replaced. */
  leftovers(): ReadonlyArray<PartID> {
    return [...this.#spare.text, ...this.#spare.reasoning, ...this.#spare.tool]
  }

  /** The parts that grew since the last time. Calls are left out: they are stored together, when all are known. */
  takeChanged(): ReadonlyArray<Written> {
    const changed = [...this.#changed].flatMap((at) => this.#parts[at] ?? [])
    this.#changed.clear()
    return changed
  }

  /** Takes an event in. */
  emit(event: ModelEvent): void {
    switch (event.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(event.id, event.type === "text-start" ? "text" : "reasoning")
        return
      case "text-delta":
      case "reasoning-delta":
        return this.#grow(event.id, event.type === "text-delta" ? "text" : "reasoning", event.delta)
      case "text-end":
        return this.#end(event.id, "text", event.metadata)
      case "reasoning-end":
        return this.#end(event.id, "reasoning", event.metadata)
      case "tool-call":
        return this.#call(event)
      case "finish":
        this.finish = event.finish
        return
      case "connected":
      case "activity":
      case "usage":
        return
    }
  }

  /** Ends all parts: open ones were cut off. */
  close(): void {
    const now = this.#options.clock.unsafeCurrentTimeMillis()
    for (const at of this.#open.values()) {
      const part = this.#parts[at]
      if (part === undefined || part.type === "tool") continue
      this.#parts[at] = {
        ...part,
        text: part.text.toWellFormed(),
        partial: true,
        time: { start: part.time?.start ?? now, end: now }
      }
      this.#changed.add(at)
    }
    this.#open.clear()
  }

  #base(type: Written["type"]) {
    const { clock, ids, messageID, source } = this.#options
    const now = clock.unsafeCurrentTimeMillis()
    // Parts are read in the order of their ids: one from before the last part would change the order of the answer.
    const last = this.#parts.at(-1)?.id
    const spare = this.#spare[type]
    const at = spare.findIndex((id) => last === undefined || id > last)
    const [reused] = at < 0 ? [] : spare.splice(at, 1)
    return { now, base: { id: reused ?? ids.unsafeMake("prt", now), sessionID: source.id, messageID } }
  }

  #begin(id: string, type: "text" | "reasoning"): number {
    const { base, now } = this.#base(type)
    const at = this.#parts.push({ ...base, type, text: "", time: { start: now } }) - 1
    this.#open.set(`${type}:${id}`, at)
    return at
  }

  #grow(id: string, type: "text" | "reasoning", delta: string): void {
    if (delta === "") return
    const at = this.#open.get(`${type}:${id}`) ?? this.#begin(id, type)
    const part = this.#parts[at]
    if (part === undefined || part.type === "tool") return
    this.#parts[at] = { ...part, text: part.text + delta }
    if (!this.#holds) this.#tell(at, part, delta)
    if (!this.#changed.has(at)) {
      this.#changed.add(at)
      this.#options.grown()
    }
  }

  #unpublished(part: Written, at: number): string {
    return part.type === "tool" ? "" : part.text.slice(this.#publishedLengths[at] ?? 0)
  }

  #tell(at: number, part: TextPart | ReasoningPart, delta: string): void {
    this.#publishedLengths[at] = (this.#publishedLengths[at] ?? 0) + delta.length
    const { clock, hasListeners, journal, messageID, source } = this.#options
    if (!hasListeners()) return
    journal.tell(
      source,
      "message.part.delta",
      { messageID, partID: part.id, field: part.type, delta },
      clock.unsafeCurrentTimeMillis()
    )
  }

  #end(id: string, type: "text" | "reasoning", metadata?: ProviderMetadata): void {
    const at = this.#open.get(`${type}:${id}`)
    const part = at === undefined ? undefined : this.#parts[at]
    if (at === undefined || part === undefined || part.type === "tool") return
    const end = this.#options.clock.unsafeCurrentTimeMillis()
    const time = { start: part.time?.start ?? end, end }
    this.#parts[at] = {
      ...part,
      text: part.text.toWellFormed(),
      ...metadata === undefined ? {} : { metadata },
      time
    }
    this.#open.delete(`${type}:${id}`)
    if (!this.#changed.has(at)) {
      this.#changed.add(at)
      this.#options.grown()
    }
  }

  #call({ fault, id, input, metadata, name }: Extract<ModelEvent, { readonly type: "tool-call" }>): void {
    const { base } = this.#base("tool")
    this.#parts.push({
      ...base,
      type: "tool",
      callID: id.toWellFormed().slice(0, 256),
      tool: name.toWellFormed().slice(0, 256),
      state: {
        status: "pending",
        input: input.toWellFormed(),
        ...fault === undefined ? {} : { fault: fault.toWellFormed() }
      },
      ...metadata === undefined ? {} : { metadata }
    })
  }
}
