/** The format `default` where there is no terminal: a line for each call on standard error, the answer on standard output. */
import type { Event } from "@skein/domain/Event"
import type { ToolPart } from "@skein/domain/Part"
import type { Streams } from "../../Stdio.ts"
import { formatDuration } from "../duration.ts"
import { escapeLine } from "../escape.ts"
import { formatCount } from "../tree/treeLines.ts"
import { callLine } from "./callLine.ts"
import { type Presenter, writeAnswer } from "./presenter.ts"
import { TaskLabels } from "./taskLabels.ts"

/** The first line of a message, as much of it as is read in passing. */
const firstLine = (text: string): string => escapeLine(text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "")

/** The lines that tell of an event; `seen` are the calls that were told of. */
const linesOf = (event: Event, seen: Set<string>): ReadonlyArray<string> => {
  const by = event.depth === 0 ? "" : "subagent:"
  switch (event.type) {
    case "message.part.updated":
      return event.properties.part.type === "tool" ? toolLines(event.properties.part, by, seen) : []
    case "background_task.completed":
    case "background_task.failed":
      return [
        `> background task ${event.properties.outcome.status} description=${
          escapeLine(event.properties.description)
        } after=${formatDuration(event.properties.durationMs)}`
      ]
    case "session.status": {
      const { status } = event.properties
      if (status.type === "queued") return [`> ${by}queued position=${status.position}`]
      if (status.type === "compacting") return [`> ${by}compacting: the conversation is summarised to save room`]
      if (status.type !== "retry") return []
      return [
        `> ${by}retry attempt=${status.attempt} in=${formatDuration(status.next - event.timestamp)}: ${
          firstLine(status.message)
        }`
      ]
    }
    case "command.executed":
      return [`> ${by}command ${escapeLine(event.properties.name)}`]
    case "session.compacted": {
      const { after, before } = event.properties.tokens
      return [`> ${by}compacted tokens=${formatCount(after)} before=${formatCount(before)}`]
    }
    default:
      return []
  }
}

const toolLines = (part: ToolPart, by: string, seen: Set<string>): ReadonlyArray<string> => {
  const { state } = part
  if (state.status === "pending" || state.status === "completed") return []
  const first = seen.has(part.id) ? [] : [`> ${by}${callLine(part.tool, state.input)}`]
  seen.add(part.id)
  return state.status === "running"
    ? first
    : [...first, `> ${by}${escapeLine(part.tool)} failed: ${firstLine(state.error.message)}`]
}

/** Makes the presenter. */
export const plain = (stdio: Streams): Presenter => {
  const seen = new Set<string>()
  const labels = new TaskLabels()
  return {
    deltas: false,
    begin: () => undefined,
    event: (event) => {
      labels.see(event)
      for (const line of linesOf(event, seen)) {
        stdio.err("  ".repeat(event.depth) + line + labels.of(event.sessionID))
      }
    },
    note: (line, sessionID) => stdio.err(escapeLine(line) + (sessionID === undefined ? "" : labels.of(sessionID))),
    end: (result) => writeAnswer(stdio, result)
  }
}
