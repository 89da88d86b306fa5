/** Decides which messages compaction keeps: the newest ones, and unanswered ones. */
import { promptOf } from "../conversation/makePrompt.ts"
import { sizeOf } from "../conversation/requestSize.ts"
import { compactionIn } from "../conversation/sentMessages.ts"
import type { LiveMessage } from "../live/History.ts"

const isAnswer = (message: LiveMessage): boolean => message.info.role === "assistant" && promptOf(message).length > 0

/** The position of the first kept message; `characters` is the maximum to keep. Everything before it is summarised. */
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
