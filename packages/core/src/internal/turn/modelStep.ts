/** The heart of the loop: makes a request, and asks the candidate models. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import type { ToolPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Instructions } from "../../Instructions.ts"
import type { Subject } from "../../Permission.ts"
import {
  type LanguageModel,
  ModelError,
  type ModelRequest,
  ModelUnavailable,
  Provider,
  type ToolSpec
} from "../../Provider.ts"
import { ContextOverflow } from "../../Turn.ts"
import { cutOff, unpriced } from "../budget/requests.ts"
import { callerOf, describeAll, guidesTo, offer, subjectOf } from "../calls/offer.ts"
import { startCalls } from "../calls/startCalls.ts"
import { compactStep } from "../compact/compactStep.ts"
import { makePrompt } from "../conversation/makePrompt.ts"
import { promptFor } from "../conversation/promptFor.ts"
import { saidNow } from "../conversation/saidNow.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import { systemPrompt } from "../conversation/systemPrompt.ts"
import { type Live, pathOf } from "../live/Live.ts"
import { askModel } from "../model/askModel.ts"
import { candidatesOfStep } from "../model/candidates.ts"
import { isCutEmpty } from "../model/emptyAnswer.ts"
import { makeRequestBudget } from "../model/requestBudget.ts"
import type { Step } from "../model/Step.ts"
import * as prompts from "../prompts.ts"

/** What a step is made of, whichever model answers. */
interface Making {
  readonly live: Live
  readonly user: UserMessage
  readonly subject: Subject
  readonly structuredOutput: StructuredOutput | undefined
  readonly agent: AgentInfo
  /** The agent's own prompt. */
  readonly own: string | undefined
  /** Whether this is the first step of the turn. */
  readonly isFirst: boolean
  readonly instructions: string | undefined
  /** Whether this is the last step that the agent may make. */
  readonly last: boolean
  /** The step limit, if this step reaches it. */
  readonly limit: ErrorInfo | undefined
  /** Tells the model that this is its last step. */
  readonly closing: string | undefined
}

/** The request, from the current state. */
const requestOf = (
  { agent, closing, instructions, last, live, own, user, structuredOutput }: Making,
  tools: ReadonlyArray<ToolSpec>,
  now: number
): ModelRequest => {
  const variant = user.variant ?? agent.variant
  const guides = guidesTo(live, tools.map(({ name }) => name))
  return {
    messages: makePrompt(
      systemPrompt({ live, agent, own, instructions, guides, user, now }),
      live.messages ?? [],
      closing,
      live.request.wholeFrom,
      live.request.reasonedFrom
    ),
    tools,
    toolChoice: last && structuredOutput !== undefined ? "required" : "auto",
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    ...(agent.topP === undefined ? {} : { topP: agent.topP }),
    ...(variant === undefined ? {} : { variant }),
    origin: {
      sessionID: live.info.id,
      rootID: live.info.rootID,
      cachedAs: live.info.cachedAs,
      path: pathOf(live),
      step: live.request.steps,
      directory: live.info.directory,
      purpose: "turn"
    }
  }
}

/** Starts the calls of an answer that can start with it. */
const startWith = ({ live, subject, structuredOutput }: Making, ref: ModelRef, offered: ReadonlyArray<string>) =>
  Effect.fnUntraced(function*(calls: ReadonlyArray<ToolPart>, finish: FinishReason) {
    // Permission is decided once the calls are known: the rules may have changed while the model thought.
    const present = calls.length === 0 ? subject : yield* subjectOf(live)
    return yield* startCalls(live, { calls, finish, offered }, present, callerOf(live, ref), structuredOutput)
  })

/** Asks one model, within the budgets. */
const askPaid = Effect.fnUntraced(function*(
  { limit, live, user }: Making,
  model: LanguageModel,
  start: ReturnType<typeof startWith>,
  request: ModelRequest
) {
  const said = () => saidNow(live)
  const requestBudget = yield* makeRequestBudget({ live, model, said, inLoop: true, steps: 1 })
  const asking = Effect.suspend(() => {
    live.request.steps++
    return askModel(live, { user, model, requestBudget, request, limit, start })
  })
  // A step that the budget cannot pay does not even begin.
  return yield* Effect.zipRight(requestBudget.take(request), asking).pipe(
    Effect.catchIf(isCutEmpty, (error) => {
      const which = requestBudget.settle(true)
      return Effect.fail(which === undefined ? error : cutOff(live.budget, which, said()))
    }),
    Effect.ensuring(Effect.sync(() => requestBudget.settle()))
  )
})

/** Makes the step with one model. Tools are withheld at the agent's last step, and if the user withheld them. */
const attempt = Effect.fnUntraced(function*(making: Making, ref: ModelRef) {
  const { isFirst, last, live, subject, user, structuredOutput } = making
  const provider = yield* Provider
  const model = yield* provider.resolve(ref)
  const refusal = unpriced(live.budget, model.info)
  if (refusal !== undefined) return yield* refusal
  const answer = structuredOutput === undefined ? [] : yield* describeAll([structuredOutput.tool], callerOf(live, ref))
  const work = last
    ? []
    : (yield* offer(live, subject, ref, isFirst)).filter((tool) => user.tools?.[tool.name] !== false)
  const tools = [...work, ...answer]
  const offered = tools.map((tool) => tool.name)
  const start = startWith(making, ref, offered)
  const step = yield* compactStep(live, {
    model,
    prepare: Effect.map(Clock.currentTimeMillis, (now) => requestOf(making, tools, now)),
    ask: (request) => askPaid(making, model, start, request)
  })
  return { ...step, model: ref, offered, last }
})

type Attempt = ReturnType<typeof attempt>

/** Why a model of several did not answer. */
type Failure = ModelUnavailable | ModelError | ContextOverflow

/** The last failure, with a message that has those of all models. */
const joined = (failures: ReadonlyArray<readonly [ModelRef, Failure]>, last: Failure): Failure => {
  const lines = failures.map(([ref, { message }]) => `- ${formatRef(ref)}: ${message}`)
  const message = `None of the agent's ${failures.length} models has answered.\n${lines.join("\n")}`
  switch (last._tag) {
    case "ModelUnavailable":
      return new ModelUnavailable({ model: last.model, reason: last.reason, message })
    case "ContextOverflow":
      return new ContextOverflow({ id: last.id, model: last.model, tries: last.tries, message })
    case "ModelError": {
      const { finish, reason, retryAfter, retryable, status, tries } = last
      return new ModelError({ finish, reason, retryAfter, retryable, status, tries, message })
    }
  }
}

/** Tries the models in order until one answers. */
const firstAnswer = (
  making: Making,
  [ref, ...others]: ReadonlyArray<ModelRef>,
  failures: ReadonlyArray<readonly [ModelRef, Failure]> = []
): Effect.Effect<Step, Effect.Effect.Error<Attempt>, Effect.Effect.Context<Attempt>> => {
  if (ref === undefined) {
    return Effect.fail(
      new ModelUnavailable({
        model: "",
        reason: "bad_config",
        message: `The agent ${making.agent.name} names no model. Set \`model\` in skein.json or pass -m provider/model.`
      })
    )
  }
  const next = (failure: Failure) => {
    const all = [...failures, [ref, failure] as const]
    if (others.length > 0) return firstAnswer(making, others, all)
    return Effect.fail(failures.length === 0 ? failure : joined(all, failure))
  }
  return Effect.catchTags(attempt(making, ref), { ModelUnavailable: next, ModelError: next, ContextOverflow: next })
}

/** Makes one step. */
export const modelStep = Effect.fnUntraced(function*(
  live: Live,
  user: UserMessage,
  subject: Subject,
  stepInTurn: number,
  structuredOutput: StructuredOutput | undefined
) {
  const context = yield* Effect.context<Agent | Config | Instructions>()
  const agent = yield* Context.get(context, Agent).get(live.info.agent)
  const refs = yield* candidatesOfStep(live, agent)
  const own = yield* promptFor(live, agent)
  const instructions = yield* Context.get(context, Instructions).of(live.info.directory)
  const { settings: { limits } } = Context.get(context, Config)
  const mostSteps = agent.steps ?? (live.parent === undefined ? undefined : limits.subagent_steps)
  const isAtLimit = mostSteps !== undefined && stepInTurn + 1 >= mostSteps
  const { isConcluding } = live.assignment
  const last = isAtLimit || isConcluding
  const closing = isAtLimit && !isConcluding ? prompts.lastStep(mostSteps) : undefined
  const limit = isAtLimit
    ? {
      tag: "steps",
      message: `The agent ${agent.name} reached its limit of ${mostSteps} ${mostSteps === 1 ? "step" : "steps"}.`
    }
    : undefined
  return yield* firstAnswer(
    {
      live,
      user,
      subject,
      structuredOutput,
      agent,
      own,
      isFirst: stepInTurn === 0,
      instructions,
      last,
      limit,
      closing
    },
    refs
  )
})
