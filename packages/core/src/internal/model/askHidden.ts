/** Asks a hidden agent one question, outside the conversation of a session. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import { costOf, none, noTokens, type Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { countUsage } from "../../Metrics.ts"
import { type ModelRequest, Provider, type RequestOrigin } from "../../Provider.ts"
import { exhausted, unpriced } from "../budget/review.ts"
import { isBlank } from "../conversation/makePrompt.ts"
import { promptFor } from "../conversation/promptFor.ts"
import { charge } from "../live/charge.ts"
import type { Live } from "../live/Live.ts"
import { sessionAttributes, usageAttributes } from "../live/spanAttributes.ts"
import { traced } from "../traced.ts"
import { candidates, concrete } from "./candidates.ts"
import { nothingSaid } from "./emptyAnswer.ts"
import { modelCall } from "./modelCall.ts"
import { makeRequestBudget } from "./requestBudget.ts"

/** How much of an answer is kept, in characters: answers of hidden agents are short. */
const longest = 16_000

/** The maximum tokens of an answer under a budget, including reasoning. */
const longestAnswer = { title: 1_024, summary: 4_096, compaction: 16_384 } as const

/** A question to the hidden agent whose name is its purpose. */
export interface HiddenQuestion {
  readonly purpose: Exclude<RequestOrigin["purpose"], "turn">
  readonly text: string
  /** Whether somebody waits for the answer: if not, it is asked once, after the requests that others wait for. */
  readonly urgent: boolean
}

/**
 * The models to try: those of the hidden agent, else the small model, else those of the session. Compacting a whole
 * conversation is not a small job.
 */
export const modelsFor = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  if (agent.model.length > 0) return yield* Effect.forEach(agent.model, (ref) => concrete(live, ref))
  const { settings } = yield* Config
  const small = settings.small_model === undefined ? undefined : parseRef(settings.small_model)
  if (small !== undefined && agent.name !== "compaction") return [yield* concrete(live, small)]
  const agents = yield* Agent
  return yield* candidates(live, agents.all.find(({ name }) => name === live.info.agent) ?? agent)
})

/**
 * Charges a question. It is no step of the session, and does not change its date. Commit the writes with the answer.
 */
const pay = (live: Live, used: Pick<Usage, "cost" | "tokens">, now: number): void => {
  charge(live, { ...none, ...used }, now, true)
}

const requestOf = (
  live: Live,
  { purpose, text }: HiddenQuestion,
  agent: AgentInfo,
  prompt: string | undefined
): ModelRequest => ({
  messages: [
    ...prompt === undefined || isBlank(prompt) ? [] : [{ role: "system" as const, content: prompt }],
    { role: "user", content: [{ type: "text", text }] }
  ],
  tools: [],
  toolChoice: "none",
  ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
  ...(agent.topP === undefined ? {} : { topP: agent.topP }),
  ...(agent.variant === undefined ? {} : { variant: agent.variant }),
  origin: {
    sessionID: live.info.id,
    rootID: live.info.rootID,
    path: [purpose],
    step: 0,
    directory: live.info.directory,
    purpose
  }
})

/** Asks one model. */
const askOne = Effect.fnUntraced(function*(
  live: Live,
  { purpose, urgent }: HiddenQuestion,
  request: ModelRequest,
  ref: ModelRef
) {
  const provider = yield* Provider
  const governor = yield* Governor
  const { settings } = yield* Config
  const clock = yield* Effect.clock
  const model = yield* provider.resolve(ref)
  const refusal = unpriced(live.budget, model.info) ?? exhausted(live.budget, () => "")
  if (refusal !== undefined) return yield* refusal
  let answer = ""
  let used = { tokens: noTokens, cost: costOf(noTokens, model.info.price) }
  const requestBudget = yield* makeRequestBudget({
    live,
    model,
    said: () => "",
    inLoop: purpose === "compaction",
    steps: 0,
    most: longestAnswer[purpose]
  })
  const asking = modelCall({
    model,
    gate: governor.requests(model),
    take: requestBudget.take(request),
    origin: request.origin,
    settings,
    retry: urgent ? settings.retry : { ...settings.retry, attempts: 1 },
    urgent,
    emit: (event) => {
      if (event.type === "text-delta" && answer.length < longest) answer += event.delta
      if ((event.type !== "finish" && event.type !== "usage") || event.tokens === undefined) return
      used = { tokens: event.tokens, cost: event.cost ?? costOf(event.tokens, model.info.price) }
      countUsage(model.info, used)
      pay(live, used, clock.unsafeCurrentTimeMillis())
    },
    check: Effect.suspend(() => answer.trim() === "" ? Effect.fail(nothingSaid(model.info, "stop")) : Effect.void),
    failed: () =>
      Effect.sync(() => {
        answer = ""
        requestBudget.settle()
      }),
    queued: () => Effect.void,
    resumed: Effect.void
  })
  yield* traced(
    "Step",
    () => ({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": ref.providerID,
      "gen_ai.request.model": ref.modelID,
      ...sessionAttributes(live),
      "skein.purpose": purpose
    }),
    Effect.ensuring(asking, Effect.sync(() => requestBudget.settle())),
    (exit) =>
      Exit.isSuccess(exit) ? { outcome: "completed", failed: false, attributes: usageAttributes(used) } : undefined
  )
  return answer.slice(0, longest).toWellFormed().trim()
})

/** Asks, and returns the text of the answer: well-formed, trimmed, and never empty. Interruption closes the request. */
export const askHidden = Effect.fnUntraced(function*(live: Live, question: HiddenQuestion) {
  const agents = yield* Agent
  const agent = yield* agents.get(question.purpose)
  const refs = yield* modelsFor(live, agent)
  const request = requestOf(live, question, agent, yield* promptFor(live, agent))
  return yield* Effect.firstSuccessOf(refs.map((ref) => askOne(live, question, request, ref)))
})
