/** Owns one answer of a model as it arrives: its message, its parts, what is stored of them, and its usage. */
import type { Ids } from "@skein/domain/Id"
import type { AssistantMessage, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { Part, StepStartPart } from "@skein/domain/Part"
import { pathOf } from "@skein/domain/SessionInfo"
import { add, none, type Reserved, type Usage } from "@skein/domain/Usage"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Runtime from "effect/Runtime"
import type { Bus } from "../../Bus.ts"
import type { Journal } from "../../Journal.ts"
import { countUsage } from "../../Metrics.ts"
import type { LanguageModel, ModelEvent } from "../../Provider.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Entry } from "../../Write.ts"
import { rateOf } from "../budget/BudgetNode.ts"
import { tokensSaid } from "../conversation/requestSize.ts"
import { charge } from "../live/charge.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { Flusher } from "./Flusher.ts"
import { StepBuffer } from "./stepBuffer.ts"
import { TryUse } from "./TryUse.ts"

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
 * Stores an answer as it arrives: that its request is about to be sent, growing text now and then, and everything at the
 * end.
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
  readonly #opening: StepStartPart
  readonly #tries = new TryUse()
  #isOpen = false
  #isComplete = false
  /** The usage so far, including failed answers. */
  #used = none
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
    live.request.own.add(this.#begun.id)
    this.message = live.history.putMessage(this.#begun)
    const flusher = new Flusher({
      runtime,
      scope: live.scope,
      storeChanged: this.store(() => ({ parts: this.buffer.takeChanged() }))
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

  /** Stores that a try is about to be sent, and what it may use. */
  begin(reserved: Reserved): Effect.Effect<void, StorageError> {
    return this.store(() => {
      this.#tries.begin(reserved)
      this.#live.request.charged = undefined
      return { parts: [{ ...this.#opening, reserved }] }
    })
  }

  /** Takes an event of the current try in. */
  hear(event: ModelEvent): void {
    this.#tries.hear(event)
    this.buffer.emit(event)
  }

  /** Charges a complete answer; returns the writes. */
  count(now: number): ReadonlyArray<Entry> {
    return this.#charge(this.buffer.calls.length, now)
  }

  /**
   * Charges a failed try, unless a status refused it or the server was never reached; returns the writes. None of its calls
   * is made.
   */
  countLost(now: number, status: number | undefined): ReadonlyArray<Entry> {
    return this.#charge(0, now, status)
  }

  /** The row that says that no try is out; commit it with the charge of the last one. */
  get opening(): Part {
    return this.#opening
  }

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
          if (this.#isComplete) this.#live.request.own.delete(this.#begun.id)
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
    const all = this.#isOpen || parts.some(({ id }) => id === this.#opening.id) ? parts : [this.#opening, ...parts]
    return [
      ...(this.#isOpen ? [] : [messageEntry(this.#begun)]),
      ...all.map((part): Entry => ({ _tag: "Part", part })),
      ...(info === undefined ? [] : [messageEntry(info)]),
      ...extra
    ]
  }

  #charge(toolCalls: number, now: number, status?: number): ReadonlyArray<Entry> {
    const { info } = this.#model
    const rate = rateOf(this.#live.budget, formatRef(info))
    const used = this.#tries.end(() => tokensSaid(this.buffer.parts, rate), status)
    if (used === undefined) return []
    const usage: Usage = { ...none, ...used, steps: 1, toolCalls }
    this.#live.request.charged = this.#begun.id
    this.#used = add(this.#used, usage)
    countUsage(info, usage)
    return charge(this.#live, usage, now)
  }
}
