/** The answer of a session: an answer that a budget cut off includes its continuation. */
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import * as prompts from "../prompts.ts"
import { answerOf } from "./makePrompt.ts"

const isCarryOn = ({ info, parts }: LiveMessage): boolean =>
  info.role === "user" &&
  parts.some((part) =>
    part.type === "text" && part.synthetic === true && (part.text === prompts.carryOn || part.text === prompts.goOn)
  )

const rawText = ({ parts }: LiveMessage): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n\n")

/** The answer at this position, with what was said before it was cut off. */
export const answerAt = (messages: ReadonlyArray<LiveMessage>, at: number, of = answerOf): string => {
  const last = messages[at]
  if (last === undefined || last.info.role !== "assistant") return ""
  let text = rawText(last)
  let from = at
  for (;;) {
    const [before, asked] = [messages[from - 2], messages[from - 1]]
    if (before === undefined || asked === undefined || !isCarryOn(asked)) break
    text = rawText(before) + text
    from -= 2
  }
  return from === at ? of(last.parts) : text.trim()
}

/** The last answer from this position on; empty if there is none. */
export const saidFrom = (messages: ReadonlyArray<LiveMessage>, from: number, of = answerOf): string => {
  for (let at = messages.length - 1; at >= from; at--) {
    const text = answerAt(messages, at, of)
    if (text !== "") return text
  }
  return ""
}

/** The last answer of a session in this turn. */
export const saidNow = ({ messages = [] }: Live): string => {
  const asked = messages.findLastIndex(({ info, parts }) =>
    info.role === "user" && parts.some((part) => part.type !== "text" || part.synthetic !== true)
    && !parts.some((part) => part.type === "compaction")
  )
  return saidFrom(messages, asked + 1)
}
