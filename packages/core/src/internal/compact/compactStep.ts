/** Asks a model within its context: a conversation that nears the limit, or exceeds it, is compacted first. */
import { formatRef } from "@skein/domain/Model"
import type { Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Settings } from "../../Config.ts"
import type { Restore } from "../../Fibers.ts"
import { type LanguageModel, ModelError, type ModelRequest } from "../../Provider.ts"
import { ContextOverflow } from "../../Turn.ts"
import { noteRate } from "../budget/BudgetNode.ts"
import { exhausted } from "../budget/requests.ts"
import { isBounded } from "../budget/reservations.ts"
import { firstWhole } from "../conversation/prune.ts"
import { estimate, rateOf, roomOf, sizeOfRequest, weightOf } from "../conversation/requestSize.ts"
import { saidNow } from "../conversation/saidNow.ts"
import { sentOf } from "../conversation/sentMessages.ts"
import type { Live } from "../live/Live.ts"
import type { Answer } from "../model/Step.ts"
import { compact, type Goal } from "./compact.ts"

/** How often to compact a conversation for one step. */
const mostTries = 3

/** The target size, as a share of what was too long, and how much the conversation must grow before the next time. */
const aim = 0.8
const growth = 0.1

/** The share of the room in which tool outputs stay. */
const whole = 0.3

/** The share of a request that must go to be worth a change, since what changes is no longer cached. */
const worthwhile = 0.1

/** A step of a session as far as its length matters. */
interface StepInRoom<A> {
  readonly model: LanguageModel
  /** Makes the request from the current state. */
  readonly prepare: () => ModelRequest
  /** Asks the model; the exit says how its answer ended. */
  readonly ask: (request: ModelRequest) => A
  readonly compaction: Settings["compaction"]
  readonly restore: Restore
}

/** What is too long, and how short it should become. */
interface Excess {
  readonly request: ModelRequest
  readonly tokens: number
  readonly goal: number
}

const tokensOf = (live: Live, request: ModelRequest): number => estimate(sizeOfRequest(request), live.request.measured)

const isOverflow = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "context_overflow"

const overflow = (live: Live, model: LanguageModel, tries: number, why: string) => {
  const { id } = live.info
  const name = formatRef(model.info)
  return new ContextOverflow({
    id,
    model: name,
    tries,
    message:
      `The conversation of ${id} exceeds the context of ${name}, and could not be compacted: ${why} Nothing of it is lost. `
      + "A model with a larger context can continue it."
  })
}

/**
 * Records the tokens that the model counted. If it was asked several times, Skein cannot tell which request they belong to.
 */
const measure = (
  live: Live,
  { info: model }: LanguageModel,
  request: ModelRequest,
  { message: { info, parts } }: Answer
): void => {
  const usage: Usage | undefined = info.role === "assistant" ? info.usage : undefined
  const tokens = usage?.tokens.input ?? 0
  if (tokens === 0 || usage?.estimated === true || parts.some((part) => part.type === "retry")) return
  live.request.measured = { size: sizeOfRequest(request), tokens }
  if (isBounded(live.budget)) noteRate(live.budget, formatRef(model), tokens / Math.max(1, weightOf(request)))
}

/** Leaves more of the old tool outputs out of requests from now on; returns whether there was anything to leave out. */
const prune = (live: Live, goal: number): boolean => {
  const before = live.request.wholeFrom
  const from = firstWhole(sentOf(live.messages ?? []), (goal * whole) / rateOf(live.request.measured))
  if (from === undefined || (before !== undefined && from <= before)) return false
  live.request.wholeFrom = from
  return true
}

/** The cost of a summary may have exhausted a budget. */
const applyBudget = Effect.fnUntraced(function*(live: Live) {
  const end = exhausted(live.budget, () => saidNow(live))
  if (end !== undefined) return yield* end
})

/** How often the conversation was shortened for this step, and how often by a summary. */
interface Tries {
  shortened: number
  summaries: number
}

/** Shortens the request. If it stays as long as before, returns the reason, and whether another try may help. */
const shorten = Effect.fnUntraced(function*(
  live: Live,
  prepare: () => ModelRequest,
  tries: Tries,
  { goal, request, tokens }: Excess
) {
  const lighter = prune(live, goal) ? prepare() : request
  const now = tokensOf(live, lighter)
  const gained = now <= tokens * (1 - worthwhile)
  // If that was not enough once, do not rely on it again.
  if (gained && now <= goal && tries.shortened < 2) return Either.right(lighter)
  const fixed = tokensOf(live, { ...request, messages: request.messages.filter(({ role }) => role === "system") })
  const target: Goal = { auto: true, tokens: goal, fixed, tries: tries.summaries++ }
  const done = yield* Effect.either(compact(live, target))
  if (Either.isLeft(done)) {
    const error = done.left
    if (error._tag === "BudgetExhausted" || error._tag === "StorageError") return yield* error
    return gained ? Either.right(lighter) : Either.left({ why: error.message, again: isOverflow(error) })
  }
  if (typeof done.right === "string") {
    if (gained) return Either.right(lighter)
    const why = done.right === "nothing"
      ? "there is nothing left in it to summarise."
      : "its summary is not shorter than what it replaces."
    return Either.left({ why, again: done.right === "no_gain" })
  }
  yield* applyBudget(live)
  return Either.right(prepare())
})

/** Shortens a request that the model refused; returns the reason if no try is left, or none helps. */
const shortenRefused = Effect.fnUntraced(function*(
  live: Live,
  prepare: () => ModelRequest,
  tries: Tries,
  excess: Excess
) {
  let why = `it was shortened ${tries.shortened} times, and the model still does not take it.`
  while (tries.shortened < mostTries) {
    tries.shortened++
    const made = yield* shorten(live, prepare, tries, excess)
    if (Either.isRight(made)) return Either.right(made.right)
    why = made.left.why
    if (!made.left.again) break
  }
  return Either.left(why)
})

/**
 * Sends what fits, as far as that is known, and sends less if it did not. Run it uninterruptibly: its waits are
 * interruptible.
 */
export function* compactStep<Y, E>(
  live: Live,
  { ask, compaction, model, prepare, restore }: StepInRoom<Generator<Y, Exit.Exit<Answer, E>, unknown>>
) {
  const room = roomOf(model.info)
  const limit = room === undefined ? undefined : room * compaction.threshold
  const tries: Tries = { shortened: 0, summaries: 0 }

  const isNear = (tokens: number): boolean =>
    compaction.auto && room !== undefined && limit !== undefined && tokens > limit
    && tokens > live.request.floor + room * growth

  let request = prepare()
  const before = limit === undefined ? 0 : tokensOf(live, request)
  if (limit !== undefined && isNear(before)) {
    const shorter = yield* restore(shorten(live, prepare, tries, { request, tokens: before, goal: limit * aim }))
    if (Either.isRight(shorter)) request = shorter.right
    else yield* Effect.logWarning("A long conversation could not be made shorter", shorter.left.why)
    live.request.floor = tokensOf(live, request)
  }

  for (;;) {
    const asked = request
    const exit = yield* ask(asked)
    if (Exit.isSuccess(exit)) {
      if (limit !== undefined || isBounded(live.budget)) measure(live, model, asked, exit.value)
      return exit.value
    }
    if (!isOverflow(Option.getOrUndefined(Cause.failureOption(exit.cause)))) return yield* exit
    if (!compaction.auto) {
      const advice = `compaction.auto is off. \`skein sessions compact ${live.info.id}\` summarises it.`
      return yield* overflow(live, model, tries.shortened, advice)
    }
    const tokens = tokensOf(live, asked)
    const goal = Math.min(limit ?? tokens, tokens) * aim
    const shorter = yield* restore(shortenRefused(live, prepare, tries, { request: asked, tokens, goal }))
    if (Either.isLeft(shorter)) return yield* overflow(live, model, tries.shortened, shorter.left)
    request = shorter.right
    live.request.floor = tokensOf(live, request)
  }
}
