/** Has a model design an agent: one request outside all sessions, and a few more to correct the answer. */
import { Ids } from "@skein/domain/Id"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import { costOf } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { countUsage } from "../../Metrics.ts"
import { type ModelRequest, type PromptMessage, Provider, type RequestOrigin } from "../../Provider.ts"
import { modelCall } from "./modelCall.ts"

/** A new agent, as a model designed it. */
export const GeneratedAgent = Schema.Struct({
  identifier: Schema.String.pipe(
    Schema.pattern(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/),
    Schema.maxLength(50)
  ).annotations({
    description: "The name of the agent: one to four words in lower case, joined by hyphens, at most 50 characters"
  }),
  whenToUse: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1_000)).annotations({
    description:
      "For agents that may delegate to it: one or two sentences that begin with \"Use this agent\" and say when"
  }),
  systemPrompt: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(20_000)).annotations({
    description: "The system prompt of the agent, in the second person"
  })
})
/** The type of such an agent. */
export interface GeneratedAgent extends Schema.Schema.Type<typeof GeneratedAgent> {}

/** The model did not produce a usable agent. */
export class AgentNotGenerated extends Schema.TaggedError<AgentNotGenerated>()("AgentNotGenerated", {
  message: Schema.String,
  /** The model's last attempt. */
  last: Schema.String
}) {}

/** A description of the desired agent. */
export interface AgentWish {
  /** Its purpose, in the user's own words. */
  readonly description: string
  /** The model that designs it; by default the configured one, else the default. */
  readonly model?: ModelRef
  /** Names that are taken, besides those of existing agents. */
  readonly taken?: ReadonlyArray<string>
}

const tool = "create_agent"

/** Low, so that the same description gives nearly the same agent. */
const temperature = 0.3

/** How often a model may correct its answer. */
const maxCorrections = 3

const system =
  `You design agents for Skein: a program in which models work on a user's project through tools such as read, grep, edit and bash, and delegate parts of the work to subagents.
You get the purpose of a new agent. Work out what it must be good at, what its limits are, what it must read before it acts, how it checks its own work, and in which form it reports; then call ${tool} once.
The system prompt speaks to the agent as "you". It is specific to the wish, says how to work in steps that can be followed, and names the cases that are easily done wrong. It promises no tools and no files that you do not know of. A subagent sees nothing but its prompt and the task, and its last message is its result.
Write in the language of the wish.`

const schema = (() => {
  const { $schema: _, ...rest } = JSONSchema.make(GeneratedAgent)
  return { ...rest }
})()

const decode = Schema.decodeUnknownEither(Schema.parseJson(GeneratedAgent))

/** The agent that the model gave, or what is wrong with it. */
const read = (input: string, taken: ReadonlySet<string>): Either.Either<GeneratedAgent, string> =>
  Either.flatMap(
    Either.mapLeft(decode(input), (error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
        [...path.map(String), message].join(": ")
      ).join("; ")),
    (agent) =>
      taken.has(agent.identifier)
        ? Either.left(`the name "${agent.identifier}" is taken; choose another identifier`)
        : Either.right(agent)
  )

/** The prompt that asks for the agent. */
const wishOf = ({ description }: AgentWish, taken: ReadonlySet<string>): Array<PromptMessage> => [
  { role: "system", content: system },
  {
    role: "user",
    content: [{
      type: "text",
      text: `The purpose of the agent:\n\n${description}\n\nThese names are taken: ${[...taken].toSorted().join(", ")}`
    }]
  }
]

/** Designs an agent with a name that is not taken. */
export const generateAgent = Effect.fn("Agent.generate")(function*(wish: AgentWish, taken: ReadonlySet<string>) {
  const { settings } = yield* Config
  const provider = yield* Provider
  const governor = yield* Governor
  const ids = yield* Ids
  const clock = yield* Effect.clock
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  const model = yield* provider.resolve(wish.model ?? configured ?? (yield* provider.defaultModel))
  const id = yield* ids.make("ses")
  const messages = wishOf(wish, taken)

  for (let step = 0;; step++) {
    let text = ""
    let input: string | undefined
    const origin: RequestOrigin = {
      sessionID: id,
      rootID: id,
      path: ["generate"],
      step,
      directory: "",
      purpose: "turn"
    }
    const request: ModelRequest = {
      messages: [...messages],
      tools: [{ name: tool, description: "Gives the agent that you have designed.", inputSchema: schema }],
      toolChoice: "required",
      temperature,
      origin
    }
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(() =>
        modelCall<never, never>({
          model,
          gate: governor.requests(model),
          clock,
          restore,
          take: () => request,
          origin,
          settings,
          retry: settings.retry,
          urgent: true,
          emit: (event) => {
            if (event.type === "text-delta") text += event.delta
            if (event.type === "tool-call" && event.name === tool) input ??= event.input
            if ((event.type === "finish" || event.type === "usage") && event.tokens !== undefined) {
              countUsage(model.info, {
                tokens: event.tokens,
                cost: event.cost ?? costOf(event.tokens, model.info.price)
              })
            }
          },
          failed: () =>
            Effect.sync(() => {
              text = ""
              input = undefined
            })
        })
      )
    )
    const answer = input === undefined ? Either.left(`${tool} was not called`) : read(input, taken)
    if (Either.isRight(answer)) return answer.right
    if (step >= maxCorrections) {
      return yield* new AgentNotGenerated({
        message: `The model gave no agent that can be used in ${
          step + 1
        } tries: ${answer.left}. Say more of what it is for, or try another model.`,
        last: input ?? text
      })
    }
    messages.push(
      { role: "assistant", content: [{ type: "text", text: input ?? (text.trim() === "" ? "…" : text) }] },
      { role: "user", content: [{ type: "text", text: `That cannot be used: ${answer.left}. Call ${tool} again.` }] }
    )
  }
})
