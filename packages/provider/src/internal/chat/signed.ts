/** Collects what a server wants back with an answer as it came: signatures and encrypted reasoning. */
import * as Option from "effect/Option"
import { type Fields, fields, parseJson } from "../json.ts"
import { cleanBody } from "../wellFormed.ts"

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

const textIn = (piece: Fields): string =>
  texts.map((name) => piece[name]).filter((text) => typeof text === "string").join("")

/** What came with one answer. */
export class Signed {
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
        text += textIn(piece)
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
export const signedIn = (call: Fields): Fields | undefined => {
  const { function: _, id: __, index: ___, type: ____, ...rest } = call
  const found = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined))
  return Object.keys(found).length === 0 ? undefined : stored(found)
}

/** Databases refuse U+0000 and lone surrogates. */
const stored = (found: Fields): Fields =>
  Option.getOrUndefined(Option.map(parseJson(cleanBody(JSON.stringify(found))), fields)) ?? {}
