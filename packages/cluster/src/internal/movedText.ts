/** Says what agents have to know whose files have moved: where they are, of which step, and what may be missing. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { FetchedStep } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"

/** How many calls are named. */
const mostNamed = 20

/** How many events are read at a time. */
const page = 500

const titleOf = ({ state, tool }: ToolPart): string => {
  const title = state.status === "completed" || state.status === "running" ? state.title : undefined
  return `${tool}${title === undefined || title === "" ? "" : `: ${title.slice(0, 200)}`} (${
    state.status === "completed" ? "completed" : state.status === "error" ? "ended with an error" : "under way"
  })`
}

/**
 * The calls that were under way or ended after a step, and may have changed files: what they changed may not be in its files.
 * Undefined if the log no longer reaches back to the step.
 */
export const sinceStep = Effect.fnUntraced(function*(rootID: SessionID, seq: number) {
  const storage = yield* SessionStorage
  const calls = new Map<string, ToolPart>()
  const { first } = yield* storage.eventRange(rootID)
  if (first > seq + 1) return undefined
  for (let after = seq;;) {
    const events = yield* storage.events({ rootID, after, types: ["message.part.updated"], limit: page })
    for (const { event } of events) {
      if (event.type !== "message.part.updated") continue
      const { part } = event.properties
      if (part.type === "tool" && part.intent !== undefined && part.intent.effect !== "safe") calls.set(part.id, part)
    }
    const last = events.at(-1)
    if (last === undefined || events.length < page) return [...calls.values()].map(titleOf)
    after = last.seq
  }
})

/** What agents read. */
export const movedText = (
  before: { readonly host: string | undefined; readonly directory: string },
  { directory, omits }: FetchedStep,
  lost: ReadonlyArray<string> | undefined
): string => {
  const step = lost === undefined
    ? "Some of the latest changes may be missing: how old its files are is not known."
    : lost.length === 0
    ? "Its files are those of the last step: no call that may have changed files has ended since."
    : `Changes of these calls may be missing, because they were not kept in time:\n${
      lost.slice(0, mostNamed).map((call) => `- ${call}`).join("\n")
    }${lost.length > mostNamed ? `\n- and ${lost.length - mostNamed} more` : ""}`
  return [
    `The host ${
      before.host ?? "of this session"
    } is gone, and this session now works on another one. Its directory was ${before.directory}. It is now ${directory}: use only paths there.`,
    step,
    ...omits.map((omitted) => `${omitted}.`),
    "Commands and servers that were running are gone. Look at the files before you go on."
  ].join("\n")
}
