/** The budget reservation of one model request: made before each try, released once its usage is charged. */
import { formatRef } from "@skein/domain/Model"
import type { SessionStatus } from "@skein/domain/SessionInfo"
import type { Reserved } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Journal } from "../../Journal.ts"
import type { LanguageModel, ModelRequest } from "../../Provider.ts"
import type { BudgetExhausted } from "../../Turn.ts"
import { type Grant, leastOutput, type Need, noteCutOff, rateOf, usualOutput } from "../budget/BudgetNode.ts"
import { exhausted, holdFor } from "../budget/requests.ts"
import { isBounded } from "../budget/reservations.ts"
import { expectedInput } from "../conversation/requestSize.ts"
import { type Live, tellStatus } from "../live/Live.ts"

/** The minimum output for continuing a cut-off answer, since each try sends the whole conversation again. */
const leastMore = 1_024

/** Who asks, and what. */
export interface Asking {
  readonly live: Live
  readonly journal: Context.Tag.Service<Journal>
  readonly model: LanguageModel
  /** What the session has said so far. */
  readonly said: () => string
  /** Whether the loop of the session waits for the answer, and the request is a step of it. */
  readonly inLoop: boolean
  readonly steps: 0 | 1
  /** The maximum useful output, in tokens, if that is less than the model's limit. */
  readonly most?: number
}

/** Holds what the tries of one question may use. */
export interface RequestBudget {
  /** Holds what the next try may use, unless it does already; returns the request to send, at once if no budget applies. */
  readonly take: (request: ModelRequest) => ModelRequest | Effect.Effect<ModelRequest, BudgetExhausted>
  /** What a try holds, to be stored before it is sent. */
  readonly reserved: (request: ModelRequest) => Reserved
  /**
   * Releases what a try held, once its usage is charged. If its answer was cut off, returns the budget that did it;
   * undefined if the model's own limit did.
   */
  readonly settle: (wasCutOff?: boolean) => Grant["bound"]
}

/** Makes the request budget of a question; free if no budget applies. The caller settles it at the end. */
export const makeRequestBudget = ({ inLoop, journal, live, model, most, said, steps }: Asking): RequestBudget => {
  let grant: Grant | undefined

  const inputOf = (request: ModelRequest): number =>
    expectedInput(request, live.request.measured, rateOf(live.budget, formatRef(model.info)))

  const needFor = (request: ModelRequest): Need => ({
    input: inputOf(request),
    steps,
    price: model.info.price,
    most: Math.min(most ?? Number.POSITIVE_INFINITY, model.info.limit?.output ?? Number.POSITIVE_INFINITY),
    least: steps === 1 && live.budget.cutAt > 0 ? leastMore : leastOutput,
    preferred: Math.max(usualOutput, steps === 1 ? 2 * live.budget.cutAt : 0)
  })

  const tell = (status: SessionStatus) =>
    Effect.map(Clock.currentTimeMillis, (now) => tellStatus(journal, live, status, now))

  const hold = (request: ModelRequest) => {
    const { status } = live
    let hasWaited = false
    const onWaiting = (why: { readonly which: "tokens" | "usd" | "steps"; readonly message: string }) => {
      if (!inLoop) return Effect.void
      hasWaited = true
      return tell({ type: "waiting", ...why })
    }
    const claim = {
      inLoop,
      node: live.budget,
      said,
      need: needFor(request),
      granted: (found: Grant) => {
        grant = found
      }
    }
    return Effect.zipRight(
      holdFor(claim, onWaiting, (waiting) => inLoop ? live.run.slot.away(waiting) : waiting),
      Effect.suspend(() => hasWaited ? tell(status) : Effect.void)
    )
  }

  return {
    take: (request) =>
      isBounded(live.budget)
        ? Effect.flatMap(Effect.suspend(() => grant === undefined ? hold(request) : Effect.void), () => {
          // The wait itself uses time.
          const end = exhausted(live.budget, said)
          if (end !== undefined) return Effect.fail(end)
          return Effect.succeed(grant?.cap === undefined ? request : { ...request, maxOutputTokens: grant.cap })
        })
        : request,
    reserved: (request) => ({
      input: inputOf(request),
      output: grant?.cap ?? 0,
      ...(model.info.price === undefined ? {} : { price: model.info.price })
    }),
    settle: (wasCutOff) => {
      const ended = grant
      grant = undefined
      ended?.release()
      const bound = wasCutOff === true ? ended?.bound : undefined
      if (steps === 1 && wasCutOff !== undefined) noteCutOff(live.budget, bound === undefined ? 0 : ended?.cap ?? 0)
      return bound
    }
  }
}
