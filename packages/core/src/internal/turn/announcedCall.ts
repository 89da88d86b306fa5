/** Finds calls that a model wrote into its text instead of making them, as models with broken templates do. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { Step } from "../model/Step.ts"

/** How models mark calls, each in its own way. */
const markup =
  /<tool_calls?>|<function_calls?>|<function=|<invoke name=|<\|tool_calls?|<｜tool▁call|\[TOOL_CALLS\]|<\|python_tag\|>|\bto=functions\./

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Code that a text shows: an explanation of markup stands there. */
const code = /```[^]*?(?:```|$)|`[^`\n]*`/g

/** The tool that a JSON object names, if it looks like a call. */
const calledIn = (value: unknown): unknown => {
  if (Array.isArray(value)) return calledIn(value[0])
  if (!Predicate.isRecord(value)) return undefined
  const isCall = ["arguments", "parameters", "args", "input"].some((key) => Predicate.isRecord(value[key]))
  return isCall ? value["name"] ?? value["tool"] ?? value["function"] : undefined
}

/** The tool of a call that a text announces: by markup, or by being the JSON of a call and nothing else. */
export const announcedIn = (text: string, offered: ReadonlyArray<string>): string | undefined => {
  const plain = text.replaceAll(code, "")
  if (markup.test(plain)) return offered.find((name) => new RegExp(`\\b${name}\\b`).test(plain))
  const whole = /^\s*(?:```\w*\n([^]*?)\n```|(\{[^]*\}|\[[^]*\]))\s*$/.exec(text)
  if (whole === null) return undefined
  const called = calledIn(Option.getOrUndefined(parse(whole[1] ?? whole[2] ?? "")))
  return offered.find((name) => name === called)
}

/** The tool that a step without calls announces. */
export const announced = ({ calls, message, offered }: Step): string | undefined =>
  calls.length > 0
    ? undefined
    : announcedIn(message.parts.findLast((part) => part.type === "text")?.text ?? "", offered)
