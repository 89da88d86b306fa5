/** The heart of the loop: makes a request of what is known, and asks the models that may answer it. */
import type { ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import type { ModelRef } from "@skein/domain/Model"
import type { ToolPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Instructions } from "../../Instructions.ts"
import type { Subject } from "../../Permission.ts"
import { type ModelRequest, ModelUnavailable, Provider } from "../../Provider.ts"
import { cutOff, unpriced } from "../budget/review.ts"
import { callerOf, describeAll, offer, subjectOf } from "../calls/offer.ts"
import { startCalls } from "../calls/startCalls.ts"
import { compactStep } from "../compact/compactStep.ts"
import { makePrompt } from "../conversation/makePrompt.ts"
import { promptFor } from "../conversation/promptFor.ts"
import { saidNow } from "../conversation/saidNow.ts"
import type { Wanted } from "../conversation/structuredOutput.ts"
import { systemPrompt } from "../conversation/systemPrompt.ts"
import { type Live, pathOf } from "../live/Live.ts"
import { askModel } from "../model/askModel.ts"
import { candidates } from "../model/candidates.ts"
import { isCutEmpty } from "../model/emptyAnswer.ts"
import { makePurse } from "../model/purse.ts"
import type { Step } from "../model/Step.ts"
import * as prompts from "../prompts.ts"

/** Makes one step. Tools are withheld at the agent's last step, and those that the user withheld. */
export const modelStep = Effect.fnUntraced(function*(
  live: Live,
  user: UserMessage,
  subject: Subject,
  stepInTurn: number,
  wanted: Wanted | undefined
) {
  const agents = yield* Agent
  const provider = yield* Provider
  const agent = yield* agents.get(live.info.agent)
  const refs = yield* candidates(live, agent)
  const own = yield* promptFor(live, agent)
  const instructions = yield* Effect.flatMap(Instructions, ({ of }) => of(live.info.directory))
  const { settings: { limits } } = yield* Config
  const mostSteps = agent.steps ?? (live.parent === undefined ? undefined : limits.subagent_steps)
  const isAtLimit = mostSteps !== undefined && stepInTurn + 1 >= mostSteps
  const last = isAtLimit || live.assignment.isConcluding

  const attempt = (ref: ModelRef) =>
    Effect.gen(function*() {
      const model = yield* provider.resolve(ref)
      const refusal = unpriced(live.budget, model.info)
      if (refusal !== undefined) return yield* refusal
      const answer = wanted === undefined ? [] : yield* describeAll([wanted.tool], callerOf(live, ref))
      const work = last ? [] : (yield* offer(live, subject, ref)).filter((tool) => user.tools?.[tool.name] !== false)
      const specs = [...work, ...answer]
      const variant = user.variant ?? agent.variant
      const closing = isAtLimit && !live.assignment.isConcluding ? prompts.lastStep(mostSteps) : undefined
      const prepare = Effect.map(Clock.currentTimeMillis, (now): ModelRequest => ({
        messages: makePrompt(
          systemPrompt({ live, agent, own, instructions, user, now }),
          live.messages ?? [],
          closing,
          live.request.wholeFrom
        ),
        tools: specs,
        toolChoice: last && wanted !== undefined ? "required" : "auto",
        ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
        ...(agent.topP === undefined ? {} : { topP: agent.topP }),
        ...(variant === undefined ? {} : { variant }),
        origin: {
          sessionID: live.info.id,
          rootID: live.info.rootID,
          path: pathOf(live),
          step: live.request.steps,
          directory: live.info.directory,
          purpose: "turn"
        }
      }))
      const limit: ErrorInfo | undefined = isAtLimit
        ? { tag: "steps", message: `The agent ${agent.name} reached its limit of ${mostSteps} steps.` }
        : undefined
      const offered = specs.map((tool) => tool.name)
      const start = Effect.fnUntraced(function*(calls: ReadonlyArray<ToolPart>, finish: FinishReason) {
        // What may be done is decided when the calls are there: the rules may have changed while the model thought.
        const present = calls.length === 0 ? subject : yield* subjectOf(live)
        return yield* startCalls(live, { calls, finish, offered }, present, callerOf(live, ref), wanted)
      })
      const said = () => saidNow(live)
      const ask = Effect.fnUntraced(function*(request: ModelRequest) {
        const purse = yield* makePurse({ live, model, said, inLoop: true, steps: 1 })
        const asking = Effect.suspend(() => {
          live.request.countStep()
          return askModel(live, { user, model, purse, request, limit, start })
        })
        // What cannot be paid is not even begun.
        return yield* Effect.zipRight(purse.take(request), asking).pipe(
          Effect.catchIf(isCutEmpty, (error) => {
            const which = purse.settle(true)
            return Effect.fail(which === undefined ? error : cutOff(live.budget, which, said()))
          }),
          Effect.ensuring(Effect.sync(() => purse.settle()))
        )
      })
      const step = yield* compactStep(live, { model, prepare, ask })
      return { ...step, model: ref, offered, last }
    })

  const from = (
    at: number
  ): Effect.Effect<
    Step,
    Effect.Effect.Error<ReturnType<typeof attempt>>,
    Effect.Effect.Context<ReturnType<typeof attempt>>
  > => {
    const ref = refs[at]
    if (ref === undefined) {
      return Effect.fail(
        new ModelUnavailable({
          model: "",
          reason: "bad_config",
          message: `The agent ${agent.name} names no model. Set \`model\` in skein.json or pass -m provider/model.`
        })
      )
    }
    return at + 1 === refs.length
      ? attempt(ref)
      : Effect.catchTags(attempt(ref), {
        ModelUnavailable: () => from(at + 1),
        ModelError: () => from(at + 1),
        ContextOverflow: () => from(at + 1)
      })
  }
  return yield* from(0)
})
