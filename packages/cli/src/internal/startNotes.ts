/** Decides what the start of a run or a session says of its config, and remembers what a person has read of trust. */
import { formatIssue, summarise } from "@skein/config/ConfigError"
import * as Trust from "@skein/config/Trust"
import * as Effect from "effect/Effect"
import type { Settled } from "./app.ts"

/** Values that a project's files set, and that count only once they are trusted. */
export const isOpen = ({ state }: Trust.TrustItem): boolean => state === "untrusted" || state === "changed"

/** The notes, each in one line. A person before a terminal (`isRead`) sees only once that values wait for trust. */
export const startNotes = Effect.fnUntraced(function*({ warnings, widenings }: Settled, isRead: boolean) {
  const fresh = widenings.filter(({ noticed, state }) => state !== "trusted" && noticed === undefined)
  const isTold = isRead && fresh.length === 0
  const { line, loud } = summarise(isTold ? warnings.filter(({ kind }) => kind !== "trust") : warnings, true)
  // If this cannot be stored, it is said again next time.
  if (isRead) yield* Effect.catchAll(Trust.notice(fresh, "told"), ({ message }) => Effect.logDebug(message))
  return [...loud.map(formatIssue), ...(line === undefined ? [] : [line])]
})
