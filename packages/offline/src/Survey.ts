/**
 * The model that needs no key and no network. It is not an AI: it surveys a project by fixed rules. Like any model, it
 * answers with text and tool calls and knows only what tool results say. The same request always gets the same answer.
 * For a question, it searches for the question's words, and says that this is all it does.
 */
import type { LanguageModel, ModelEvent, ModelRequest } from "@skein/core/Provider"
import * as Effect from "effect/Effect"
import { explore, readBrief, writePart } from "./internal/explore.ts"
import { leadSurvey } from "./internal/lead.ts"
import { shorten } from "./internal/shorten.ts"
import { surveyInfo } from "./internal/surveyInfo.ts"
import { type Decision, type PlannedCall, readTurn, toolboxOf, type Turn } from "./internal/toolbox.ts"

const nextStep = (request: ModelRequest, turn: Turn): Decision => {
  const tools = toolboxOf(request)
  const brief = readBrief(turn.prompt)
  if (brief === undefined) return leadSurvey(turn, tools)
  const step = explore(brief, turn.calls, tools)
  return "next" in step
    ? { text: turn.calls.length === 0 ? `Looking at ${brief.label}.` : "Reading what tells most.", calls: step.next }
    : { text: writePart(brief.label, step.conclusion), calls: [] }
}

const decide = (request: ModelRequest): Decision & { readonly callCount: number } => {
  const turn = readTurn(request.messages)
  const short = shorten(request.origin.purpose, turn.prompt)
  const { calls, text } = short === undefined ? nextStep(request, turn) : { calls: [], text: short }
  return { text, calls: distinct(calls), callCount: turn.callCount }
}

/** Removes duplicate calls within a step. */
const distinct = (calls: ReadonlyArray<PlannedCall>): ReadonlyArray<PlannedCall> => [
  ...new Map(calls.map((call) => [JSON.stringify(call), call])).values()
]

/** The estimate for one token. */
const charactersPerToken = 4
const tokens = (characters: number): number => Math.ceil(characters / charactersPerToken)

const lengthOf = (request: ModelRequest): number =>
  request.messages.reduce((sum, message) => {
    if (message.role === "system") return sum + message.content.length
    return message.content.reduce((inner, part) => {
      switch (part.type) {
        case "text":
        case "reasoning":
          return inner + part.text.length
        case "file":
          return inner
        case "tool-call":
          return inner + JSON.stringify(part.input ?? null).length
        case "tool-result":
          return inner + part.output.value.length
      }
    }, sum)
  }, 0)

/** Truncates an answer to the output limit of the request. A truncated answer makes no calls. */
const cut = ({ calls, text, ...rest }: ReturnType<typeof decide>, { maxOutputTokens: cap }: ModelRequest) => {
  const length = calls.reduce((sum, { input }) => sum + JSON.stringify(input).length, text.length)
  return cap === undefined || tokens(length) <= cap
    ? { ...rest, calls, text, isCut: false }
    : { ...rest, calls: [], text: text.slice(0, cap * charactersPerToken), isCut: true }
}

/** The answer as a model streams it: text by paragraph, then the calls. */
const eventsOf = (request: ModelRequest): ReadonlyArray<ModelEvent> => {
  const { callCount, calls, isCut, text } = cut(decide(request), request)
  const inputs = calls.map((call) => JSON.stringify(call.input))
  const output = inputs.reduce((sum, input) => sum + input.length, text.length)
  return [
    { type: "connected" },
    { type: "text-start", id: "text" },
    ...text.split(/(?<=\n\n)/).map((delta): ModelEvent => ({ type: "text-delta", id: "text", delta })),
    { type: "text-end", id: "text" },
    ...calls.map((call, index): ModelEvent => ({
      type: "tool-call",
      id: `survey_${callCount + index + 1}`,
      name: call.name,
      input: inputs[index] ?? "{}"
    })),
    {
      type: "finish",
      finish: isCut ? "length" : calls.length > 0 ? "tool-calls" : "stop",
      tokens: { input: tokens(lengthOf(request)), output: tokens(output), reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    }
  ]
}

/** The model `offline/survey`: free, deterministic, and without I/O. */
export const survey: LanguageModel = {
  info: surveyInfo,
  limitKey: "offline/survey",
  stream: (request, emit) =>
    Effect.flatMap(Effect.sync(() => eventsOf(request)), (events) =>
      // Yields between paragraphs, as a real model does while it writes.
      Effect.forEach(events, (event) => Effect.zipRight(Effect.yieldNow(), Effect.sync(() => emit(event))), {
        discard: true
      }))
}
