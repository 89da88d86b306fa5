/** Assembles the calls of an answer from their pieces, which servers mark in different ways. */
import type { AnswerMeter } from "@skein/core/AnswerMeter"
import * as Option from "effect/Option"
import { type Fields, fields, parseJson } from "../json.ts"
import { signedIn } from "./signed.ts"

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
export class ChatCalls {
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
