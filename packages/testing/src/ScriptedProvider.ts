/** A model that answers from a script: by agent and by step, with latencies and faults, without a network. */
import {
  type LanguageModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  Provider,
  type ProviderMetadata
} from "@skein/core/Provider"
import type { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import type { Tokens } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { checkRequest } from "./internal/checkRequest.ts"

/**
 * A scripted call; `raw` replaces `input` for arguments that are not JSON, and `fault` is why the server did not accept it.
 */
export interface ScriptedCall {
  readonly tool: string
  readonly input?: unknown
  readonly raw?: string
  readonly id?: string
  readonly metadata?: ProviderMetadata
  readonly fault?: string
}

/** One step of a scripted model. Delays are in milliseconds of the Clock. */
export interface ScriptedStep {
  readonly text?: string
  readonly reasoning?: string
  /** What the provider wants back with the reasoning, which is only then sent back. */
  readonly signature?: ProviderMetadata
  readonly calls?: ReadonlyArray<ScriptedCall>
  readonly finish?: FinishReason
  readonly tokens?: Partial<Tokens>
  /** What the provider says that the answer cost, in USD. */
  readonly cost?: string
  /** The delay until the model accepts the request, until its first word, and between two words. */
  readonly delay?: { readonly connect?: number; readonly first?: number; readonly between?: number }
  /** The step fails with this after its content. */
  readonly fails?: ModelError
  /** The step emits its content and then hangs. */
  readonly hangs?: boolean
  /** The number of pieces of the text; one if absent. */
  readonly pieces?: number
  /** The step ignores the request's cap, as a provider does that ignores `max_tokens`. */
  readonly ignoresCap?: boolean
  /** The step does not report its usage. */
  readonly silent?: boolean
  /** The step fails before the server is reached. */
  readonly unreached?: boolean
}

/** A script for one agent: its steps in order (the last one is repeated), or a function of the request. */
export type Script =
  | ReadonlyArray<ScriptedStep | string>
  | ((request: ModelRequest) => ScriptedStep | string | Effect.Effect<ScriptedStep | string>)

/** Answers with text and ends. */
export const text = (words: string, more: Omit<ScriptedStep, "text"> = {}): ScriptedStep => ({ ...more, text: words })

/** Calls one tool, once or several times. */
export const call = (tool: string, ...inputs: ReadonlyArray<unknown>): ScriptedStep => ({
  calls: inputs.map((input) => ({ tool, input }))
})

/** Starts a task of each agent in parallel: `tasks({ explore: "Find the entry" })`. */
export const tasks = (...prompts: ReadonlyArray<Readonly<Record<string, string>>>): ScriptedStep => ({
  calls: prompts.flatMap((each) =>
    Object.entries(each).map(([agent, prompt]) => ({
      tool: "task",
      input: { description: `${agent} task`, prompt, subagent_type: agent }
    }))
  )
})

const mayPass: ReadonlySet<ModelError["reason"]> = new Set([
  "rate_limit",
  "overloaded",
  "server",
  "network",
  "timeout",
  "bad_response",
  "empty_response"
])

/** The statuses with which servers refuse requests. */
const statuses: Partial<Record<ModelError["reason"], number>> = {
  rate_limit: 429,
  overloaded: 529,
  server: 500,
  auth: 401,
  invalid_request: 400,
  reasoning_refused: 400,
  context_overflow: 400
}

/**
 * Fails the request after the content in `more`: `fault("rate_limit", { retryAfter: 2_000 })`, `fault("network", {}, {
 * text: "so far" })`. Without content, a status refuses it if servers do that for this reason.
 */
export const fault = (
  reason: ModelError["reason"],
  details: Partial<Pick<ModelError, "retryable" | "message" | "status" | "retryAfter" | "finish">> = {},
  more: Omit<ScriptedStep, "fails"> = {}
): ScriptedStep => ({
  ...more,
  fails: new ModelError({
    reason,
    retryable: mayPass.has(reason),
    message: `scripted ${reason}`,
    ...(more.text === undefined && statuses[reason] !== undefined ? { status: statuses[reason] } : {}),
    ...details
  })
})

/** The last text in the request, for scripts that are functions. */
export const lastText = (request: ModelRequest): string => {
  const message = request.messages.findLast((each) => each.role === "user")
  return message?.role === "user" ? message.content.map((part) => (part.type === "text" ? part.text : "")).join("") : ""
}

const scriptedModel: ModelInfo = { providerID: "scripted", modelID: "model", price: { input: "1", output: "2" } }

const usual: Tokens = { input: 10, output: 5, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

/** The default answers of the hidden agents. */
const hidden: Readonly<Record<string, Script>> = {
  title: ["A title"],
  summary: ["A summary"],
  compaction: ["What was said."]
}

/** The name under which a request finds its script. */
const nameFor = (scripts: Readonly<Record<string, Script>>, { origin: { path, purpose } }: ModelRequest): string => {
  if (purpose !== "turn") return purpose
  const ends = path.map((_, from) => path.slice(from).join("/"))
  return ends.find((end) => Object.hasOwn(scripts, end)) ?? "*"
}

const pieces = (words: string, count: number): ReadonlyArray<string> => {
  const size = Math.max(1, Math.ceil(words.length / count))
  return Array.from({ length: Math.ceil(words.length / size) }, (_, i) => words.slice(i * size, (i + 1) * size))
}

/** What is left of an answer that exceeds the cap of its request: a part of its text, and none of its calls. */
const capped = (step: ScriptedStep, { maxOutputTokens: cap }: ModelRequest): ScriptedStep => {
  const tokens = { ...usual, ...step.tokens }
  if (cap === undefined || tokens.output <= cap || step.ignoresCap === true) return step
  const { calls: _, text: words, ...rest } = step
  return {
    ...rest,
    ...(words === undefined ? {} : { text: words.slice(0, Math.floor(words.length * cap / tokens.output)) }),
    finish: "length",
    tokens: { ...tokens, output: cap, reasoning: Math.min(tokens.reasoning, cap) }
  }
}

const say = Effect.fnUntraced(function*(step: ScriptedStep, emit: (event: ModelEvent) => void) {
  const { between, connect, first } = { between: 0, connect: 0, first: 0, ...step.delay }
  if (connect > 0) yield* Effect.sleep(connect)
  if (step.unreached !== true) emit({ type: "connected" })
  if (first > 0) yield* Effect.sleep(first)
  if (step.reasoning !== undefined) {
    emit({ type: "reasoning-start", id: "r" })
    emit({ type: "reasoning-delta", id: "r", delta: step.reasoning })
    emit({ type: "reasoning-end", id: "r", ...step.signature === undefined ? {} : { metadata: step.signature } })
  }
  if (step.text !== undefined) {
    emit({ type: "text-start", id: "t" })
    for (const delta of pieces(step.text, step.pieces ?? 1)) {
      emit({ type: "text-delta", id: "t", delta })
      if (between > 0) yield* Effect.sleep(between)
    }
    if (step.fails === undefined && step.hangs !== true) emit({ type: "text-end", id: "t" })
  }
  for (const [i, each] of (step.calls ?? []).entries()) {
    emit({
      type: "tool-call",
      id: each.id ?? `call_${i}`,
      name: each.tool,
      input: each.raw ?? JSON.stringify(each.input ?? {}),
      ...each.metadata === undefined ? {} : { metadata: each.metadata },
      ...each.fault === undefined ? {} : { fault: each.fault }
    })
  }
  if (step.hangs === true) return yield* Effect.never
  if (step.fails !== undefined) {
    if (step.tokens !== undefined && step.silent !== true) emit({ type: "usage", tokens: { ...usual, ...step.tokens } })
    return yield* step.fails
  }
  emit({
    type: "finish",
    finish: step.finish ?? ((step.calls ?? []).length > 0 ? "tool-calls" : "stop"),
    tokens: step.silent === true ? undefined : { ...usual, ...step.tokens },
    ...step.cost === undefined ? {} : { cost: step.cost }
  })
})

/** A scripted provider, and what it has recorded. */
export interface Scripted {
  readonly layer: Layer.Layer<Provider>
  /** The one model of the layer; several make a provider with `Provider.layerModels([a.model, b.model])`. */
  readonly model: LanguageModel
  /** The requests so far, in order. */
  readonly requests: ReadonlyArray<ModelRequest>
  /** The number of open requests: now, and the maximum so far. */
  readonly open: { readonly now: number; readonly most: number }
}

/**
 * Makes a provider of one model, `scripted/model` unless `info` names it otherwise, that follows these scripts. A
 * script is found by the agents from the root to the one that asks: the longest matching end of that path wins
 * (`build/lead/explore`, then `lead/explore`, then `explore`), and `*` answers for all others. Each session uses each
 * script independently: one step for each request, retries included. Titles use the script `title`, summaries of
 * sessions `summary` and those of conversations `compaction`, all optional. Requests are checked as a strict provider
 * would: each call needs exactly one result, roles alternate, ids and names are valid. An answer that reports more
 * output tokens than the request's `maxOutputTokens` is cut there and ends with `length`.
 */
export const make = (scripts: Readonly<Record<string, Script>>, info: Partial<ModelInfo> = {}): Scripted => {
  const requests: Array<ModelRequest> = []
  const open = { now: 0, most: 0 }
  const counts = new Map<string, number>()

  const stepOf = (request: ModelRequest): Effect.Effect<ScriptedStep, ModelError> =>
    Effect.gen(function*() {
      const wrong = checkRequest(request)
      if (wrong !== undefined) {
        return yield* new ModelError({
          reason: "invalid_request",
          retryable: false,
          status: 400,
          message: `A strict provider refuses this request: ${wrong}.`
        })
      }
      const name = nameFor(scripts, request)
      const script = Object.hasOwn(scripts, name)
        ? scripts[name]
        : request.origin.purpose === "turn"
        ? undefined
        : hidden[name]
      if (script === undefined) {
        return yield* new ModelError({
          reason: "invalid_request",
          retryable: false,
          message: `The script has no entry for ${request.origin.path.join("/")}. Entries: ${
            Object.keys(scripts).join(", ")
          }.`
        })
      }
      if (typeof script === "function") {
        const made = script(request)
        const step = Effect.isEffect(made) ? yield* made : made
        return typeof step === "string" ? { text: step } : step
      }
      const key = `${request.origin.sessionID} ${name}`
      const at = counts.get(key) ?? 0
      counts.set(key, at + 1)
      const step = script[Math.min(at, script.length - 1)] ?? ""
      return typeof step === "string" ? { text: step } : step
    })

  const known: ModelInfo = { ...scriptedModel, ...info }
  const model: LanguageModel = {
    info: known,
    limitKey: formatRef(known),
    stream: (request, emit) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          requests.push(request)
          open.most = Math.max(open.most, ++open.now)
        }),
        () => Effect.flatMap(stepOf(request), (step) => say(capped(step, request), emit)),
        () => Effect.sync(() => open.now--)
      )
  }
  return { layer: Provider.layerModels([model]), model, requests, open }
}

/** Only the layer, for tests that do not need the record. */
export const layer = (scripts: Readonly<Record<string, Script>>): Layer.Layer<Provider> => make(scripts).layer
