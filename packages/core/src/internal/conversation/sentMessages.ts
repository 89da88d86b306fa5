/** Decides what of a conversation models are sent: all of it, or what was kept when it was last shortened. */
import type { MessageID } from "@skein/domain/Id"
import type { CompactionPart } from "@skein/domain/Part"
import type { LiveMessage } from "../live/History.ts"

/** The part that says that a message stands for what was said before it. */
export const compactionIn = ({ info, parts }: Pick<LiveMessage, "info" | "parts">): CompactionPart | undefined =>
  // It speaks for the user; of a long conversation nearly all are answers, and each step asks this of all of them.
  info.role === "user" ? parts.find((part) => part.type === "compaction") : undefined

const kept = (messages: ReadonlyArray<LiveMessage>, from: MessageID | undefined): ReadonlyArray<LiveMessage> => {
  const at = from === undefined ? -1 : messages.findIndex(({ info }) => info.id === from)
  return at < 0 ? [] : messages.slice(at).filter((message) => compactionIn(message) === undefined)
}

/** The last summary, what was kept beside it, and all that came after it; everything where there is no summary. */
export const sentOf = (messages: ReadonlyArray<LiveMessage>): ReadonlyArray<LiveMessage> => {
  const at = messages.findLastIndex((message) => compactionIn(message) !== undefined)
  const summary = messages[at]
  if (summary === undefined) return messages
  return [summary, ...kept(messages.slice(0, at), compactionIn(summary)?.keptFrom), ...messages.slice(at + 1)]
}
