/** Owns whether a session works, and whether the loops of its tree pause. */
import type { MessageID, SessionID } from "@skein/domain/Id"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Tracer from "effect/Tracer"
import type { Slot } from "../../Governor.ts"
import type { PromptError, Turn } from "../../Turn.ts"

/** The run of a session's loop. */
export interface Running {
  /** The slot that it works with until it ends. */
  readonly slot: Slot
  readonly fiber: Deferred.Deferred<Fiber.RuntimeFiber<void>>
  /** The callers that wait for the answer to a prompt, by the id of its message. */
  readonly waiters: Map<MessageID, Deferred.Deferred<Turn, PromptError>>
  /** Whether it was asked to stop: new callers wait for its end, and then start a new run. */
  halted: boolean
}

/** The run state of one session. */
export class RunState {
  #running: Running | undefined
  /** The slot for prompts outside a task. */
  readonly #free: Slot
  #taskSlot: Slot | undefined
  #lastTurn: Exit.Exit<Turn, PromptError> | undefined
  #stops = 0
  #stoppedBy: string | undefined
  #halts = 0
  #span: Tracer.AnySpan | undefined
  #sideFibers: Set<Fiber.Fiber<unknown, unknown>> | undefined
  #submitting = 0
  #openCalls = 0
  #waitingCalls = 0

  constructor(free: Slot) {
    this.#free = free
  }

  /** The loop, while there is one. */
  get running(): Running | undefined {
    return this.#running
  }

  /** Sets the loop before its fiber exists, so that there is never a second one. */
  begin(running: Running): void {
    this.#running = running
  }

  /** Clears the loop, unless another one has begun. */
  end(running: Running): void {
    if (this.#running === running) this.#running = undefined
  }

  /**
   * The slot for the next loop. A loop keeps its slot until it ends, because it must release the one that it acquired.
   */
  get slot(): Slot {
    return this.#running?.slot ?? this.#taskSlot ?? this.#free
  }

  /** The slot for its runs as a task, created with the first run. One session has only one: two could deadlock. */
  taskSlot(make: () => Slot): Slot {
    return this.#taskSlot ??= make()
  }

  /** How its last turn in this process ended. */
  get lastTurn(): Exit.Exit<Turn, PromptError> | undefined {
    return this.#lastTurn
  }

  /** Notes how a turn ended. */
  turnEnded(exit: Exit.Exit<Turn, PromptError>): void {
    this.#lastTurn = exit
  }

  /** How often it was stopped, directly or from above: runs requested before that do not begin. */
  get stops(): number {
    return this.#stops
  }

  /**
   * How often it was halted, for any reason. Notifications of tasks from before a halt wait in the inbox and wake
   * nothing.
   */
  get halts(): number {
    return this.#halts
  }

  /** Who stopped it last; undefined if unknown. */
  get stoppedBy(): string | undefined {
    return this.#stoppedBy
  }

  /** Counts a stop. */
  countStop(by: string | undefined): void {
    this.#stops++
    this.#stoppedBy = by
  }

  /** Counts a halt, and marks the loop as halted. */
  countHalt(): void {
    this.#halts++
    if (this.#running !== undefined) this.#running.halted = true
  }

  /** Whether prompts are being stored, or wait for their answers. */
  get isSubmitting(): boolean {
    return this.#submitting > 0
  }

  /** A prompt is about to be stored. */
  beginSubmit(): void {
    this.#submitting++
  }

  /** A prompt was answered, or refused. */
  endSubmit(): void {
    this.#submitting--
  }

  /** The span of the prompt that last started the loop: what begins later belongs to it. */
  get span(): Tracer.AnySpan | undefined {
    return this.#span
  }

  /** Notes the span of a prompt. */
  useSpan(span: Tracer.AnySpan | undefined): void {
    this.#span = span
  }

  /** Fibers that run alongside the loop, such as the request for a title. Halting the session ends them. */
  get sideFibers(): ReadonlyArray<Fiber.Fiber<unknown, unknown>> {
    return this.#sideFibers === undefined ? [] : [...this.#sideFibers]
  }

  /** Adds a fiber that runs alongside the loop. */
  addSideFiber(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#sideFibers ??= new Set()
    this.#sideFibers.add(fiber)
  }

  /** Removes a fiber that has ended. */
  removeSideFiber(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#sideFibers?.delete(fiber)
  }

  /** A call of the step begins. */
  beginCall(): void {
    this.#openCalls++
  }

  /** A call of the step has ended. */
  endCall(): void {
    this.#openCalls--
  }

  /** A call starts to wait only for tasks or people. */
  beginWaiting(): void {
    this.#waitingCalls++
  }

  /** A call continues after waiting. */
  endWaiting(): void {
    this.#waitingCalls--
  }

  /** How many calls of the step have begun and not ended. */
  get calls(): number {
    return this.#openCalls
  }

  /** Whether it makes calls, and all of them wait for tasks or people. */
  get waitsInAllCalls(): boolean {
    return this.#openCalls > 0 && this.#waitingCalls === this.#openCalls
  }

  /** Whether it asks its model, or makes a call that does not wait. */
  get works(): boolean {
    return this.#running !== undefined && (this.#openCalls === 0 || this.#waitingCalls < this.#openCalls)
  }
}

/** The pause of a tree. */
export class TreePause {
  #over: Effect.Latch | undefined
  /** How many operations want the pause. */
  #count = 0
  #left: Effect.Latch | undefined
  readonly #paused = new Set<SessionID>()

  /** From now on, loops pause before their next step. */
  begin(): void {
    this.#count++
    this.#over ??= Effect.unsafeMakeLatch(false)
  }

  /** The loops continue, unless another operation wants the pause. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    if (--this.#count > 0) return Effect.void
    const over = this.#over
    this.#over = undefined
    return over === undefined ? Effect.void : Effect.asVoid(over.open)
  })

  /** Whether the loop of a session pauses now. */
  has(id: SessionID): boolean {
    return this.#paused.has(id)
  }

  /**
   * To be called between two steps: waits while there is a pause. The agent keeps its slot, so that its place does not go to
   * another agent of the tree, which would begin only to pause as well.
   */
  between(id: SessionID): Effect.Effect<void> {
    return Effect.suspend(() => {
      const over = this.#over
      if (over === undefined) return Effect.void
      return Effect.acquireUseRelease(
        Effect.sync(() => this.#paused.add(id)),
        () => over.await,
        () => Effect.sync(() => this.#paused.delete(id))
      )
    })
  }

  /** This process leaves the tree: from now on no effect of a call begins. */
  leave(): void {
    this.#left ??= Effect.unsafeMakeLatch(false)
  }

  /** It has left, or could not. */
  readonly stay: Effect.Effect<void> = Effect.suspend(() => {
    const left = this.#left
    this.#left = undefined
    return left === undefined ? Effect.void : Effect.asVoid(left.open)
  })

  /** What the effect of a call must wait for before it begins; undefined if it may begin now. */
  get barrier(): Effect.Effect<void> | undefined {
    return this.#left?.await
  }
}
