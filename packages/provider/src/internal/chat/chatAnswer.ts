/**
 * Converts chunks of the Chat Completions API to events, and keeps what the server wants back as it came: signatures and
 * encrypted reasoning.
 */
import { defaults } from "@skein/core/Config"
import { isTextNested } from "@skein/core/Nesting"
import { AnswerMeter, longestEvent, type ModelEvent, type ProviderMetadata, tooLongEvent } from "@skein/core/Provider"
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import type { Cost } from "@skein/domain/Usage"
import * as Option from "effect/Option"
import { type AnswerEmitter, costIn, endOf, makeAnswerEmitter, toTokens } from "../answerEmitter.ts"
import { TooLarge, UnreadableChunk } from "../errors.ts"
import { isError, isKnown, tooDeepEvent } from "../eventStream.ts"
import type { RefusedCall } from "../failure.ts"
import { cleanBody, type Fields, fields, parseJson } from "../json.ts"
import type { Dialect } from "./chatBody.ts"

/** The fields of a message that hold it, in the dialects of OpenRouter, Google, LiteLLM and others. */
const names = ["reasoning_details", "extra_content", "thinking_blocks", "reasoning_opaque"] as const

/** Fields whose pieces add up to one text. */
const texts = ["text", "summary", "thinking"] as const

/** A piece of an answer: the reasoning in it that can be read, and all that cannot. */
interface Piece {
  readonly text: string
  readonly opaque: string
}

/** Fills the fields of an object that are not there yet, and joins texts. */
const merged = (before: Fields, piece: Fields): Fields => ({
  ...before,
  ...Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null && value !== undefined)),
  ...Object.fromEntries(
    texts.flatMap((name) =>
      typeof before[name] === "string" && typeof piece[name] === "string" ? [[name, before[name] + piece[name]]] : []
    )
  )
})

/** Whether a piece of a list continues its last element: the signature comes last, and ends it. */
const continues = (last: Fields | undefined, piece: Fields): last is Fields =>
  last !== undefined && texts.some((name) => typeof last[name] === "string") && last["type"] === piece["type"] &&
  last["index"] === piece["index"] && typeof last["signature"] !== "string" && typeof piece["data"] !== "string"

const textOfPiece = (piece: Fields): string =>
  texts.map((name) => piece[name]).filter((text) => typeof text === "string").join("")

/** What came with one answer. */
class Signed {
  readonly #lists = new Map<string, Array<Fields>>()
  readonly #others = new Map<string, unknown>()

  /** Takes what a piece of an answer has of it. */
  take(delta: Fields): Piece {
    let text = ""
    let opaque = ""
    for (const name of names) {
      const value = delta[name]
      if (value === undefined || value === null) continue
      if (!Array.isArray(value)) {
        const before = fields(this.#others.get(name))
        const object = fields(value)
        this.#others.set(name, before !== undefined && object !== undefined ? merged(before, object) : value)
        opaque += JSON.stringify(value)
        continue
      }
      const list = this.#lists.get(name) ?? []
      this.#lists.set(name, list)
      for (const each of value) {
        const piece = fields(each)
        if (piece === undefined) continue
        const last = list.at(-1)
        if (continues(last, piece)) list[list.length - 1] = merged(last, piece)
        else list.push(piece)
        text += textOfPiece(piece)
        opaque += [piece["data"], piece["signature"]].filter((one) => typeof one === "string").join("")
      }
    }
    return { text, opaque }
  }

  /** All of it, as fields of the message; undefined if there is none. */
  all(): Fields | undefined {
    const found = Object.fromEntries([...this.#lists, ...this.#others])
    return Object.keys(found).length === 0 ? undefined : stored(found)
  }
}

/** The fields of a call besides those of the protocol; undefined if there are none. */
const signedIn = (call: Fields): Fields | undefined => {
  const { function: _, id: __, index: ___, type: ____, ...rest } = call
  const found = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined))
  return Object.keys(found).length === 0 ? undefined : stored(found)
}

/** Databases refuse U+0000 and lone surrogates. */
const stored = (found: Fields): Fields =>
  Option.getOrUndefined(Option.map(parseJson(cleanBody(JSON.stringify(found))), fields)) ?? {}

const opening = "<think>"
const closing = "</think>"

/** How much is held back before the first word, in characters. */
const longestStart = 1_000

/** The longest end of a text that may be the beginning of a tag. */
const partial = (text: string, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}

/** Splits the deltas of one answer. It holds back what may be a tag, until it knows. */
export const makeThinkTag = (say: (kind: "text" | "reasoning", delta: string) => void) => {
  let state: "start" | "inside" | "gap" | "after" = "start"
  let held = ""
  const tell = (kind: "text" | "reasoning", delta: string) => {
    if (delta !== "") say(kind, delta)
  }
  /** Begins the text behind the reasoning, without the blank lines between them. */
  const begin = (delta: string): void => {
    const words = delta.trimStart()
    state = words === "" ? "gap" : "after"
    tell("text", words)
  }
  const push = (delta: string): void => {
    if (state === "after") return tell("text", delta)
    if (state === "gap") return begin(delta)
    held += delta
    if (state === "start") {
      const words = held.trimStart()
      if (held.length < longestStart && words.length < opening.length && opening.startsWith(words)) return
      state = words.startsWith(opening) ? "inside" : "after"
      if (state === "after") return flush()
      held = words.slice(opening.length)
    }
    const end = held.indexOf(closing)
    if (end >= 0) {
      tell("reasoning", held.slice(0, end))
      const rest = held.slice(end + closing.length)
      held = ""
      return begin(rest)
    }
    const open = held.length - partial(held, closing)
    tell("reasoning", held.slice(0, open))
    held = held.slice(open)
  }
  /** Tells what is held back. */
  const flush = (): void => {
    const rest = held
    held = ""
    tell(state === "inside" ? "reasoning" : "text", rest)
  }
  return { push, flush }
}

/** A call, as far as it has arrived. */
interface ChatCall {
  readonly index: number
  id: string
  name: string
  input: string
  /** What the server wants back with it. */
  signed: Fields | undefined
}

/** The calls of one answer. */
class ChatCalls {
  readonly #calls: Array<ChatCall> = []
  #size = 0
  readonly #meter: AnswerMeter

  constructor(meter: AnswerMeter) {
    this.#meter = meter
  }

  /** Takes one element of `tool_calls`. Returns false if its shape is unknown. */
  take(value: unknown): boolean {
    const piece = fields(value)
    const called = piece?.["function"] ?? {}
    const named = fields(called)
    if (piece === undefined || named === undefined) return false
    const id = textIn(piece["id"])
    const name = textIn(named["name"])
    const input = inputIn(named["arguments"])
    if (id === undefined || name === undefined || input === undefined) return false
    this.#meter.arguments(input)
    const call = this.#find(piece, id, name, input) ?? this.#begin(piece)
    // Some servers repeat both in every piece, some invent a new id each time, and some send them late.
    if (call.name === "") this.#size += name.length
    this.#size += input.length
    if (call.id === "") call.id = id
    if (call.name === "") call.name = name
    call.input += input
    const signed = signedIn(piece)
    if (signed !== undefined) {
      this.#meter.arguments(JSON.stringify(signed))
      call.signed = { ...call.signed, ...signed }
    }
    return true
  }

  /** Their length in characters, without repetitions. */
  get size(): number {
    return this.#size
  }

  /** Whether there is any. */
  get begun(): boolean {
    return this.#calls.length > 0
  }

  /** All calls in order. Pieces without name and arguments are dropped. */
  all(): ReadonlyArray<ChatCall> {
    return this.#calls.filter(({ input, name }) => name !== "" || input !== "").toSorted((a, b) => a.index - b.index)
  }

  #begin(piece: Fields): ChatCall {
    const index = piece["index"]
    const call = {
      index: typeof index === "number" ? index : this.#calls.length,
      id: "",
      name: "",
      input: "",
      signed: undefined
    }
    this.#calls.push(call)
    this.#meter.call()
    return call
  }

  /** The call that a piece continues; undefined if it begins a new one. */
  #find(piece: Fields, id: string, name: string, input: string): ChatCall | undefined {
    const index = piece["index"]
    const last = this.#calls.at(-1)
    const call = typeof index === "number"
      ? last?.index === index ? last : this.#calls.findLast((one) => one.index === index)
      : id !== ""
      ? this.#calls.findLast((one) => one.id === id)
      : name === ""
      ? last
      : undefined
    if (call === undefined || name === "" || call.name === "") return call
    if (name !== call.name) return undefined
    // Some servers give every call the index 0, and some give several calls the same id.
    const another = (id !== "" && id !== call.id) || input.startsWith("{")
    return another && Option.isSome(parseJson(call.input)) ? undefined : call
  }
}

const textIn = (value: unknown): string | undefined =>
  value === undefined || value === null ? "" : typeof value === "string" ? value.trim() === "" ? "" : value : undefined

/** Arguments are text that grows, or an object if the server sends them at once. */
const inputIn = (value: unknown): string | undefined =>
  value === undefined || value === null
    ? ""
    : typeof value === "string"
    ? value
    : typeof value === "object"
    ? Option.getOrUndefined(writeJson(value))
    : undefined

/** Too deep nesting cannot be serialised. */
const writeJson = Option.liftThrowable((value: object): string => JSON.stringify(value))

type Kind = "text" | "reasoning"

/** One answer. Emits each event as it arrives, and the calls at the end. */
export class ChatAnswer {
  readonly #emit: (event: ModelEvent) => void
  readonly #emitter: AnswerEmitter
  readonly #step: number
  readonly #meter: AnswerMeter
  readonly #bounds: AnswerBounds
  readonly #calls: ChatCalls
  readonly #thinkTag: ReturnType<typeof makeThinkTag> | undefined
  readonly #provider: string | undefined
  /** The field in which the server sends reasoning: it gets it back there. */
  #field: string | undefined
  readonly #parts: Record<Kind, number> = { text: 0, reasoning: 0 }
  readonly #signed = new Signed()
  #kind: Kind | undefined
  #id = ""
  #finish: string | undefined
  #refused = false
  #usage: Fields | undefined

  /** Why the answer failed, for `toModelError`. */
  failure: unknown

  /** `step` becomes part of the ids of calls that have none. */
  constructor(
    step: number,
    emit: (event: ModelEvent) => void,
    bounds: AnswerBounds = defaults.limits.answer,
    { reasoning, thinkTags = false }: Pick<Dialect, "reasoning" | "thinkTags"> = {}
  ) {
    this.#provider = reasoning
    this.#thinkTag = thinkTags ? makeThinkTag((kind, delta) => this.#say(kind, delta)) : undefined
    this.#bounds = bounds
    this.#meter = new AnswerMeter(bounds)
    this.#calls = new ChatCalls(this.#meter)
    this.#step = step
    this.#emit = emit
    this.#emitter = makeAnswerEmitter(emit)
  }

  /** Takes the data of one event, and its type if any. Returns false once the answer has ended or failed. */
  readonly take = (data: string, type = "message"): boolean => {
    if (data.startsWith("[DONE]")) return false
    if (isTextNested(data)) return this.#fail(new TooLarge(tooDeepEvent))
    const parsed = parseJson(data)
    const chunk = Option.getOrUndefined(Option.map(parsed, fields))
    if (chunk === undefined || Array.isArray(chunk)) {
      return isKnown(type) ? this.#unreadable(Option.getOrElse(parsed, () => data)) : true
    }
    const { choices, error, usage } = chunk
    if (error !== undefined && error !== null) return this.#fail(chunk)
    this.#usage = fields(usage) ?? this.#usage
    // A chunk without choices is of an unknown kind, unless it reports an error.
    if (choices === undefined && !isError(chunk)) return true
    if (!Array.isArray(choices)) return fields(usage) === undefined ? this.#unreadable(chunk) : true
    const choice = choices.length === 0 ? {} : fields(choices[0])
    if (choice === undefined) return this.#unreadable(chunk)
    const reason = choice["finish_reason"]
    // Some servers send "" before the last chunk.
    if (typeof reason === "string" && reason !== "") this.#finish = reason
    const delta = fields(choice["delta"] ?? {})
    if (delta === undefined || !this.#takeDelta(delta)) return this.#unreadable(chunk)
    const { excess } = this.#meter
    return excess === undefined ? true : this.#fail(new TooLarge(excess))
  }

  /** The maximum length of one event, in characters. */
  get longestEvent(): number {
    return longestEvent(this.#bounds)
  }

  /** Called if an event is longer. */
  readonly tooLong = (): void => {
    this.#fail(new TooLarge(tooLongEvent(this.#bounds)))
  }

  /** Emits the end, or returns the error of an answer that must not end here. */
  end(): unknown {
    this.#thinkTag?.flush()
    const ended = this.#finish === undefined ? undefined : endOf(this.#finish)
    const finish = ended === "stop" && this.#refused ? "content-filter" : ended
    const flaw = this.#emitter.flaw(finish, this.#calls.begun, this.#finish)
    const spoke = this.#emitter.spoke || this.#calls.begun
    const tokens = this.#usage === undefined ? undefined : tokensOf(this.#usage, spoke)
    if (flaw !== undefined) {
      if (tokens !== undefined) this.#emit({ type: "usage", tokens, ...this.#cost })
      return flaw
    }
    if (finish === undefined) return undefined
    this.#close()
    const signed = this.#signed.all()
    if (signed !== undefined && this.#provider !== undefined) {
      this.#emitter.begin("reasoning", "signed")
      this.#emitter.end("signed", { [this.#provider]: { message: signed } })
    }
    for (const [at, { id, input, name, signed: more }] of this.#calls.all().entries()) {
      const metadata = this.#provider === undefined || more === undefined
        ? undefined
        : { [this.#provider]: { call: more } }
      this.#emitter.call(id === "" ? `call_${this.#step}_${at}` : id, name, input, metadata)
    }
    this.#emit({ type: "finish", finish, tokens, ...this.#cost })
    return undefined
  }

  /** Ends the answer with a call that the server did not accept; what it held back is dropped. */
  endWith({ fault, input, name }: RefusedCall): void {
    this.#thinkTag?.flush()
    this.#close()
    this.#emitter.call(`call_${this.#step}_refused`, name, input, undefined, fault)
    const tokens = this.#usage === undefined ? undefined : tokensOf(this.#usage, true)
    this.#emit({ type: "finish", finish: "tool-calls", tokens, ...this.#cost })
  }

  #takeDelta(delta: Fields): boolean {
    const { content, reasoning, reasoning_content, refusal, tool_calls } = delta
    const signed = this.#signed.take(delta)
    if (signed.opaque !== "") {
      this.#meter.text(signed.opaque)
      this.#emitter.alive()
    }
    const thought = reasoning_content ?? reasoning ?? ""
    if (typeof thought !== "string") return false
    if (thought !== "") {
      this.#field = typeof reasoning_content === "string" ? "reasoning_content" : "reasoning"
      this.#say("reasoning", thought)
    } else if (signed.text !== "") this.#say("reasoning", signed.text)
    if (typeof content === "string") {
      if (content !== "") this.#write(content)
    } else if (Array.isArray(content)) content.forEach(this.#takeContent)
    else if (content !== undefined && content !== null) return false
    if (typeof refusal === "string" && refusal !== "") {
      this.#refused = true
      this.#say("text", refusal)
    }
    if (Array.isArray(tool_calls) && tool_calls.length > 0) {
      if (this.#kind === "reasoning") this.#close()
      const before = this.#calls.size
      for (const piece of tool_calls) {
        if (!this.#calls.take(piece)) return false
        if (this.#meter.excess !== undefined) return true
      }
      if (this.#calls.size > before) this.#emitter.alive()
    }
    return true
  }

  /** Takes one content part in Mistral's format: text or reasoning. */
  readonly #takeContent = (value: unknown): void => {
    const piece = fields(value) ?? {}
    if (piece["type"] === "text") this.#sayIn("text", piece["text"])
    if (piece["type"] !== "thinking" || !Array.isArray(piece["thinking"])) return
    for (const each of piece["thinking"]) this.#sayIn("reasoning", fields(each)?.["text"])
  }

  #sayIn(kind: Kind, text: unknown): void {
    if (typeof text === "string" && text !== "") this.#say(kind, text)
  }

  #write(delta: string): void {
    if (this.#thinkTag === undefined) this.#say("text", delta)
    else this.#thinkTag.push(delta)
  }

  #say(kind: Kind, delta: string): void {
    if (this.#kind !== kind) {
      this.#close()
      this.#kind = kind
      this.#id = `${kind}-${this.#parts[kind]++}`
    }
    this.#meter.text(delta)
    if (this.#meter.excess === undefined) this.#emitter.say(kind, this.#id, delta)
  }

  get #cost(): { readonly cost?: Cost } {
    const cost = this.#usage === undefined ? undefined : costIn(this.#usage)
    return cost === undefined ? {} : { cost }
  }

  #close(): void {
    if (this.#kind !== undefined) this.#emitter.end(this.#id, this.#kind === "reasoning" ? this.#sentBack() : undefined)
    this.#kind = undefined
  }

  /** What marks a reasoning to be sent back. */
  #sentBack(): ProviderMetadata | undefined {
    return this.#provider === undefined || this.#field === undefined
      ? undefined
      : { [this.#provider]: { field: this.#field } }
  }

  #unreadable(value: unknown): false {
    return this.#fail(new UnreadableChunk(value))
  }

  #fail(cause: unknown): false {
    this.failure = cause
    return false
  }
}

/** Of an answer that says something, a count of 0 is none. */
const tokensOf = (usage: Fields, spoke: boolean) => {
  const prompt = fields(usage["prompt_tokens_details"])
  return toTokens({
    input: usage["prompt_tokens"],
    output: spoke && usage["completion_tokens"] === 0 ? undefined : usage["completion_tokens"],
    reasoning: fields(usage["completion_tokens_details"])?.["reasoning_tokens"],
    // DeepSeek and Moonshot have names of their own.
    cacheRead: prompt?.["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["cached_tokens"],
    cacheWrite: prompt?.["cache_write_tokens"] ?? usage["cache_creation_input_tokens"]
  })
}
