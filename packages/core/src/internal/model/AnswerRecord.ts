/** Owns one answer of a model as it arrives: its message, its parts, what is stored of them, and its usage. */
import type { Ids } from "@skein/domain/Id"
import type { AssistantMessage, FinishReason, UserMessage } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import { pathOf } from "@skein/domain/SessionInfo"
import { add, costOf, none, noTokens, type Usage } from "@skein/domain/Usage"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Runtime from "effect/Runtime"
import type { Bus } from "../../Bus.ts"
import type { Journal } from "../../Journal.ts"
import type { Entry } from "../../JournalEntry.ts"
import { countUsage } from "../../Metrics.ts"
import type { LanguageModel } from "../../Provider.ts"
import type { StorageError } from "../../StorageError.ts"
import { charge } from "../live/charge.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { Flusher } from "./Flusher.ts"
import { StepBuffer } from "./stepBuffer.ts"

/** The services that an answer needs. */
export interface AnswerServices {
  readonly ids: Context.Tag.Service<typeof Ids>
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly bus: Context.Tag.Service<typeof Bus>
  readonly clock: Clock.Clock
  readonly runtime: Runtime.Runtime<never>
}

/** What one commit stores of an answer. */
export interface Change {
  readonly parts: ReadonlyArray<Part>
  readonly extra?: ReadonlyArray<Entry>
  /** The message, if this is its end. */
  readonly info?: AssistantMessage
}

/** The end of an answer. */
export interface AnswerEnd extends Omit<Change, "info"> {
  /** What the end adds to the message. */
  readonly rest: Partial<AssistantMessage>
}

const messageEntry = (info: AssistantMessage): Entry => ({ _tag: "Message", info })

/**
 * Stores an answer as it arrives: growing text now and then, and everything at the end. Until there is something to
 * store or publish, the message is in memory alone: most steps are one commit.
 */
export class AnswerRecord {
  readonly message: LiveMessage
  readonly buffer: StepBuffer
  /** Ends when nothing more is stored before the end. */
  readonly stopFlushing: Effect.Effect<void>
  readonly #live: Live
  readonly #model: LanguageModel
  readonly #services: AnswerServices
  readonly #begun: AssistantMessage
  readonly #opening: Part
  #isOpen = false
  #isComplete = false
  /** The usage so far, including failed answers. */
  #used = none
  #isCounted = false
  // One commit after the other, so that changes of a part are published in order.
  #isStoring = false
  readonly #isStored = Effect.unsafeMakeLatch(true)

  constructor(live: Live, user: UserMessage, model: LanguageModel, services: AnswerServices) {
    this.#live = live
    this.#model = model
    this.#services = services
    const { bus, clock, ids, journal, runtime } = services
    const { agent, id: sessionID, rootID } = live.info
    const started = clock.unsafeCurrentTimeMillis()
    this.#begun = {
      id: ids.unsafeMake("msg", started),
      sessionID,
      role: "assistant",
      parentID: user.id,
      agent,
      providerID: model.info.providerID,
      modelID: model.info.modelID,
      path: pathOf(live.info),
      usage: none,
      time: { created: started }
    }
    this.message = live.history.putMessage(this.#begun)
    const flusher = new Flusher({
      runtime,
      scope: live.scope,
      open: this.open,
      storeChanged: Effect.zipRight(this.open, this.store(() => ({ parts: this.buffer.takeChanged() })))
    })
    this.stopFlushing = flusher.stop
    this.buffer = new StepBuffer({
      source: live.info,
      messageID: this.#begun.id,
      ids,
      clock,
      journal,
      hasListeners: () => bus.hasDeltaListeners({ sessionID, rootID }),
      grown: () => flusher.grown()
    })
    this.#opening = { ...this.base(started), type: "step-start" }
    live.history.putPart(this.message, this.#opening)
  }

  /** Whether the message is stored. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Whether the end of the answer is stored: a later stop cannot undo that. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** What was used so far. */
  get used(): Usage {
    return this.#used
  }

  /** Why the model ended the answer. */
  get finish(): FinishReason {
    return this.buffer.finish ?? "other"
  }

  /** The fields that every new part of the message has. */
  base(now: number) {
    const { id: messageID, sessionID } = this.#begun
    return { id: this.#services.ids.unsafeMake("prt", now), sessionID, messageID }
  }

  /** Charges a complete answer; returns the writes. */
  count(now: number): ReadonlyArray<Entry> {
    this.#isCounted = true
    return this.#charge(this.buffer.calls.length, now)
  }

  /** Whether the model has begun an answer whose usage it did not report: what that costs is not known. */
  get isUncounted(): boolean {
    return !this.#isCounted && this.buffer.tokens === undefined && this.buffer.parts.length > 0
  }

  /** Charges a failed answer whose usage the model reported; none of its calls is made. */
  countLost(now: number): ReadonlyArray<Entry> {
    return this.#isCounted || this.buffer.tokens === undefined ? [] : this.#charge(0, now)
  }

  /** Stores the message once there is something to publish about it: a message must be stored first. */
  readonly open: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    this.buffer.waits ? this.store(() => ({ parts: [] })) : Effect.void
  )

  /** Stores a change after all changes before it. */
  store(what: (now: number) => Change): Effect.Effect<void, StorageError> {
    return Effect.uninterruptible(Effect.suspend(() => {
      if (this.#isStoring) return Effect.zipRight(this.#isStored.await, this.store(what))
      const change = what(this.#services.clock.unsafeCurrentTimeMillis())
      const writes = this.#take(change)
      if (writes.length === 0) return Effect.void
      this.#isStoring = true
      this.#isStored.unsafeClose()
      this.buffer.hold()
      return this.#services.journal.commit(writes, this.#live.info).pipe(
        Effect.map(() => {
          this.#isOpen = true
          this.#isComplete = change.info !== undefined
          this.buffer.markPublished(change.parts)
        }),
        Effect.ensuring(Effect.sync(() => {
          this.#isStoring = false
          this.#isStored.unsafeOpen()
          if (this.#isOpen) this.buffer.release()
        }))
      )
    }))
  }

  /** Stores the end of the answer, without the parts of failed tries that nothing replaced. */
  end(of: (now: number) => AnswerEnd): Effect.Effect<void, StorageError> {
    return this.store((now) => {
      const { id: sessionID } = this.#live.info
      const removed = this.buffer.leftovers()
      for (const id of removed) this.#live.history.removePart(this.message, id)
      const { extra = [], parts, rest } = of(now)
      const time = { ...this.#begun.time, completed: now }
      return {
        parts,
        extra: [...removed.map((id): Entry => ({ _tag: "RemovePart", id, sessionID })), ...extra],
        info: { ...this.#begun, ...rest, usage: this.#used, time }
      }
    })
  }

  /** Applies a change in memory; returns the writes for it, and for the message if that is not stored yet. */
  #take({ extra = [], info, parts }: Change): ReadonlyArray<Entry> {
    const { history } = this.#live
    for (const part of parts) history.putPart(this.message, part)
    if (info !== undefined) history.putMessage(info)
    const all = this.#isOpen ? parts : [this.#opening, ...parts]
    return [
      ...(this.#isOpen ? [] : [messageEntry(this.#begun)]),
      ...all.map((part): Entry => ({ _tag: "Part", part })),
      ...(info === undefined ? [] : [messageEntry(info)]),
      ...extra
    ]
  }

  #charge(toolCalls: number, now: number): ReadonlyArray<Entry> {
    const { cost: said, tokens } = this.buffer
    const { info } = this.#model
    const cost = said ?? (tokens === undefined ? "unknown" : costOf(tokens, info.price))
    const usage: Usage = { ...none, tokens: tokens ?? noTokens, cost, steps: 1, toolCalls }
    this.#used = add(this.#used, usage)
    countUsage(info, usage)
    return charge(this.#live, usage, now)
  }
}
