/** Owns one answer of a model as it arrives: its message, its parts, what is stored of them, and what its tries use. */
import type { AssistantMessage, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { Part, StepStartPart } from "@skein/domain/Part"
import { pathOf } from "@skein/domain/SessionInfo"
import { add, none, type Reserved, type Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import type { RequestGate } from "../../Governor.ts"
import { countUsage } from "../../Metrics.ts"
import { elapsed } from "../../MonotonicClock.ts"
import { isContent, type LanguageModel, type ModelEvent } from "../../Provider.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Entry } from "../../Write.ts"
import { rateOf } from "../budget/BudgetNode.ts"
import { tokensSaid } from "../conversation/requestSize.ts"
import { charge, type Reported, usedBy } from "../live/charge.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import type { StepServices } from "./Step.ts"
import { StepBuffer } from "./stepBuffer.ts"

/** How often growing parts are stored, in milliseconds. */
const flushEvery = 200

/** What the tries of one request use, one after the other: what is reserved, what arrives, and what is charged. */
export class TryUse {
  #reserved: Reserved | undefined
  #reported: Reported | undefined
  #isConnected = false
  #hasAnswered = false
  #isWhole = false
  /** How many pieces of calls have arrived, until the calls are there themselves. */
  #pieces = 0

  /** A try is about to be sent. */
  begin(reserved: Reserved): void {
    this.#reserved = reserved
    this.#reported = undefined
    this.#isConnected = false
    this.#hasAnswered = false
    this.#isWhole = false
    this.#pieces = 0
  }

  /** Takes an event of it in. */
  hear(event: ModelEvent): void {
    this.#isConnected = true
    this.#hasAnswered ||= event.type === "usage" || isContent(event)
    if (event.type === "activity") this.#pieces++
    if (event.type === "tool-call") this.#pieces = 0
    if (event.type === "finish") this.#isWhole = true
    if (event.type !== "finish" && event.type !== "usage") return
    const { cost, tokens } = event
    this.#reported = tokens === undefined ? undefined : { tokens, cost }
  }

  /**
   * Ends the try that is out; returns what it has used. That is nothing if a status refused it before it was answered,
   * or if the server was never reached. `said` are the tokens of what has arrived.
   */
  end(said: () => number, status?: number): Pick<Usage, "cost" | "estimated" | "tokens"> | undefined {
    const reserved = this.#reserved
    this.#reserved = undefined
    const isRefused = status !== undefined && status >= 300 && !this.#hasAnswered
    if (reserved === undefined || isRefused || !this.#isConnected) return undefined
    return usedBy(reserved, this.#reported, said() + this.#pieces, this.#isWhole)
  }
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
  readonly #live: Live
  readonly #model: LanguageModel
  readonly #services: StepServices
  readonly #gate: RequestGate
  readonly #begun: AssistantMessage
  readonly #opening: StepStartPart
  readonly #tries = new TryUse()
  #isOpen = false
  #isComplete = false
  /** The usage so far, including failed answers. */
  #used = none
  /** One commit after the other, so that changes of a part are published in order. */
  #storing: Effect.Latch | undefined
  #cancelFlush: (() => void) | undefined

  constructor(live: Live, user: UserMessage, model: LanguageModel, services: StepServices) {
    this.#live = live
    this.#model = model
    this.#services = services
    const { bus, clock, governor, ids, journal } = services
    this.#gate = governor.requests(model)
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
    this.buffer = new StepBuffer({
      source: live.info,
      messageID: this.#begun.id,
      ids,
      clock,
      journal,
      hasListeners: () => bus.hasDeltaListeners({ sessionID, rootID }),
      grown: () => this.#flushLater()
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

  /** Stores growing text after a while: most answers have ended by then. */
  #flushLater(): void {
    if (this.#cancelFlush !== undefined) return
    // The end of the step stores the same again, and fails if that is impossible.
    const flush = Effect.catchAll(
      this.store(() => ({ parts: this.buffer.takeChanged() })),
      (error) => Effect.logDebug("Growing text could not be stored", error.message)
    )
    this.#cancelFlush = this.#gate.alarm(elapsed(this.#services.clock) + flushEvery, () => {
      this.#cancelFlush = undefined
      return flush
    })
  }

  /** From now on, nothing more is stored before the end. */
  stopFlushing(): void {
    this.#cancelFlush?.()
    this.#cancelFlush = () => {}
  }

  /** Stores a change after all changes before it. */
  store(what: (now: number) => Change): Effect.Effect<void, StorageError> {
    return Effect.uninterruptible(Effect.suspend(() => {
      if (this.#storing !== undefined) return Effect.zipRight(this.#storing.await, this.store(what))
      const change = what(this.#services.clock.unsafeCurrentTimeMillis())
      const writes = this.#take(change)
      if (writes.length === 0) return Effect.void
      const storing = this.#storing = Effect.unsafeMakeLatch()
      this.buffer.hold()
      const end = () => {
        this.#storing = undefined
        storing.unsafeOpen()
        if (this.#isOpen) this.buffer.release()
      }
      return Effect.matchCauseEffect(this.#services.journal.commit(writes, this.#live.info), {
        onFailure: (cause) => {
          end()
          return Effect.failCause(cause)
        },
        onSuccess: () => {
          this.#isOpen = true
          this.#isComplete = change.info !== undefined
          if (this.#isComplete) this.#live.request.own.delete(this.#begun.id)
          this.buffer.markPublished(change.parts)
          end()
          return Effect.void
        }
      })
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
    // A tree that is left charges what is out before its answers end.
    if (used === undefined || this.#live.request.charged === this.#begun.id) return []
    const usage: Usage = { ...none, ...used, steps: 1, toolCalls }
    this.#live.request.charged = this.#begun.id
    this.#used = add(this.#used, usage)
    countUsage(info, usage)
    return charge(this.#live, usage, now)
  }
}
