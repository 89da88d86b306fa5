/** Decides what of a conversation models read: all of it, or what the last compaction kept. */
import type { MessageID } from "@skein/domain/Id"
import type { CompactionPart } from "@skein/domain/Part"
import type { LiveMessage } from "../live/History.ts"

/** The part that marks a message as a summary of what came before. */
export const compactionIn = ({ info, parts }: Pick<LiveMessage, "info" | "parts">): CompactionPart | undefined =>
  // A summary is a user message. Nearly all messages of a long conversation are answers, and each step checks all of
  // them.
  info.role === "user" ? parts.find((part) => part.type === "compaction") : undefined

const kept = (messages: ReadonlyArray<LiveMessage>, from: MessageID | undefined): ReadonlyArray<LiveMessage> => {
  const at = from === undefined ? -1 : messages.findIndex(({ info }) => info.id === from)
  return at < 0 ? [] : messages.slice(at).filter((message) => compactionIn(message) === undefined)
}

/** The last summary, the messages that it kept, and all later ones; everything if there is no summary. */
export const sentOf = (messages: ReadonlyArray<LiveMessage>): ReadonlyArray<LiveMessage> => {
  const at = messages.findLastIndex((message) => compactionIn(message) !== undefined)
  const summary = messages[at]
  if (summary === undefined) return messages
  return [summary, ...kept(messages.slice(0, at), compactionIn(summary)?.keptFrom), ...messages.slice(at + 1)]
}
