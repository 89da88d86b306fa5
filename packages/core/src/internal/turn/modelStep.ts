/** The heart of the loop: makes a request, and asks the candidate models. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Subject } from "../../Permission.ts"
import { ModelError, type ModelRequest, ModelUnavailable, type ToolSpec } from "../../Provider.ts"
import { ContextOverflow } from "../../Turn.ts"
import { unpriced } from "../budget/requests.ts"
import { callerOf, describeAll, guidesTo, offer, subjectOf } from "../calls/offer.ts"
import { startCalls } from "../calls/toolCalls.ts"
import { compactStep } from "../compact/compactStep.ts"
import { makePrompt } from "../conversation/makePrompt.ts"
import { promptFor } from "../conversation/promptFor.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import { systemPrompt } from "../conversation/systemPrompt.ts"
import { type Live, pathOf } from "../live/Live.ts"
import { askModel } from "../model/askModel.ts"
import { candidatesOfStep, chosenOf } from "../model/candidates.ts"
import type { Step, StepServices } from "../model/Step.ts"
import * as prompts from "../prompts.ts"

/** What a step is made of, whichever model answers. */
interface Making {
  readonly live: Live
  readonly services: StepServices
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
const startWith =
  ({ live, structuredOutput }: Making, ref: ModelRef, offered: ReadonlyArray<string>) =>
  (calls: ReadonlyArray<ToolPart>, finish: FinishReason) =>
    calls.length === 0
      ? Effect.succeed(calls)
      // Permission is decided once the calls are known: the rules may have changed while the model thought.
      : Effect.flatMap(
        subjectOf(live),
        (present) => startCalls(live, { calls, finish, offered }, present, callerOf(live, ref), structuredOutput)
      )

/** Makes the step with one model. Tools are withheld at the agent's last step, and if the user withheld them. */
function* attempt(making: Making, ref: ModelRef) {
  const { isFirst, last, limit, live, services, subject, user, structuredOutput } = making
  const { clock, config: { settings: { compaction } }, provider, restore } = services
  const model = yield* restore(provider.resolve(ref))
  const refusal = unpriced(live.budget, model.info)
  if (refusal !== undefined) return yield* refusal
  const answer = structuredOutput === undefined
    ? []
    : yield* restore(describeAll([structuredOutput.tool], callerOf(live, ref)))
  const work = last
    ? []
    : (yield* restore(offer(live, subject, ref, isFirst))).filter((tool) => user.tools?.[tool.name] !== false)
  const tools = [...work, ...answer]
  const offered = tools.map((tool) => tool.name)
  const start = startWith(making, ref, offered)
  const step = yield* compactStep(live, {
    model,
    compaction,
    restore,
    prepare: () => requestOf(making, tools, clock.unsafeCurrentTimeMillis()),
    ask: (request) => askModel(live, { user, model, request, limit, start }, services)
  })
  return { ...step, model: ref, offered, last } satisfies Step
}

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

const isFailure = (error: { readonly _tag: string }): error is Failure =>
  error._tag === "ModelUnavailable" || error._tag === "ModelError" || error._tag === "ContextOverflow"

/** Tries the models in order until one answers. */
function* firstAnswer(making: Making, refs: ReadonlyArray<ModelRef>) {
  const failures: Array<readonly [ModelRef, Failure]> = []
  for (const [at, ref] of refs.entries()) {
    if (refs.length === 1) return yield* attempt(making, ref)
    const answered = yield* Effect.either(Effect.gen(() => attempt(making, ref)))
    if (Either.isRight(answered)) return answered.right
    const error = answered.left
    if (!isFailure(error)) return yield* Effect.fail(error)
    failures.push([ref, error])
    if (at === refs.length - 1) return yield* joined(failures, error)
  }
  return yield* new ModelUnavailable({
    model: "",
    reason: "bad_config",
    message: `The agent ${making.agent.name} names no model. Set \`model\` in skein.json or pass -m provider/model.`
  })
}

/** Makes one step. Run it uninterruptibly: its waits are interruptible. */
export function* modelStep(
  live: Live,
  services: StepServices,
  user: UserMessage,
  subject: Subject,
  stepInTurn: number,
  structuredOutput: StructuredOutput | undefined
) {
  const { agents, config: { settings: { limits } }, restore } = services
  const agent = yield* agents.get(live.info.agent)
  const refs = chosenOf(live, agent) ?? (yield* restore(candidatesOfStep(live, agent)))
  const own = yield* restore(promptFor(live, agent))
  const instructions = yield* restore(services.instructions.of(live.info.directory))
  const mostSteps = agent.steps ?? (live.parent === undefined ? undefined : limits.subagent_steps)
  const isAtLimit = mostSteps !== undefined && stepInTurn + 1 >= mostSteps
  const { isConcluding } = live.assignment
  const limit = isAtLimit
    ? {
      tag: "steps",
      message: `The agent ${agent.name} reached its limit of ${mostSteps} ${mostSteps === 1 ? "step" : "steps"}.`
    }
    : undefined
  const making: Making = {
    live,
    services,
    user,
    subject,
    structuredOutput,
    agent,
    own,
    isFirst: stepInTurn === 0,
    instructions,
    last: isAtLimit || isConcluding,
    limit,
    closing: isAtLimit && !isConcluding ? prompts.lastStep(mostSteps) : undefined
  }
  return yield* firstAnswer(making, refs)
}
