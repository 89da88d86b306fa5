/** Decides which messages stay as they are when a conversation is shortened: the newest ones, and what nobody has answered. */
import { sizeOf } from "./compactSize.ts"
import { compactionIn } from "./compactView.ts"
import { promptOf } from "./history.ts"
import type { LiveMessage } from "./live.ts"

const isAnswer = (message: LiveMessage): boolean => message.info.role === "assistant" && promptOf(message).length > 0

/** The place of the first one of what is sent; `characters` is how much may be kept. Everything before it is summarised. */
export const firstKept = (sent: ReadonlyArray<LiveMessage>, characters: number): number => {
  let at = sent.findLastIndex((message) => isAnswer(message) || compactionIn(message) !== undefined) + 1
  let left = characters - sizeOf(sent.slice(at).flatMap(promptOf))
  for (;;) {
    const before = sent[at - 1]
    if (before === undefined || compactionIn(before) !== undefined) return at
    left -= sizeOf(promptOf(before))
    if (left < 0) return at
    at--
  }
}
