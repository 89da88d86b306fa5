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
  /** The stops of the session, and of those above, when it began. After a later one it ends, and what it asks for is inert. */
  readonly stops: number
}

/** The run state of one session. */
export class RunState {
  /** The loop, while there is one. It is set before its fiber exists, so that there is never a second one. */
  running: Running | undefined
  /** How its last turn in this process ended. */
  lastTurn: Exit.Exit<Turn, PromptError> | undefined
  /** How often it was stopped in this process, directly or from above: what was asked of it before that does not begin. */
  stops = 0
  /** Who stopped it last; undefined if unknown. */
  stoppedBy: string | undefined
  /** How many prompts are being stored, or wait for the end of a loop that was stopped. */
  submitting = 0
  /** The span of the prompt that last started the loop: what begins later belongs to it. */
  span: Tracer.AnySpan | undefined
  /** Fibers that run alongside the loop, such as the request for a title. Halting the session ends them. */
  readonly sideFibers = new Set<Fiber.Fiber<unknown, unknown>>()
  /** The slot for prompts outside a task. */
  readonly #free: Slot
  #taskSlot: Slot | undefined

  constructor(free: Slot) {
    this.#free = free
  }

  /** Clears the loop, unless another one has begun. */
  end(running: Running): void {
    if (this.running === running) this.running = undefined
  }

  /**
   * The slot for the next loop. A loop keeps its slot until it ends, because it must release the one that it acquired.
   */
  get slot(): Slot {
    return this.running?.slot ?? this.#taskSlot ?? this.#free
  }

  /** The slot for its runs as a task, created with the first run. One session has only one: two could deadlock. */
  taskSlot(make: () => Slot): Slot {
    return this.#taskSlot ??= make()
  }

  /** Counts a stop. */
  countStop(by: string | undefined): void {
    this.stops++
    this.stoppedBy = by
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

  /** Whether loops are to pause. */
  get isOn(): boolean {
    return this.#over !== undefined
  }

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
