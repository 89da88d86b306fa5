/** Encodes a tree for a client that knows no subagents: what is below the root shows in the calls of the root. */
import type { PartID, SessionID } from "@skein/domain/Id"
import { reason } from "@skein/domain/Outcome"
import type { ToolPart } from "@skein/domain/Part"
import { visibleLine } from "@skein/view/Visible"
import type { Change, Subagent, SubagentState } from "../../Projection.ts"
import {
  askTitle,
  callFields,
  type Encoder,
  type Facts,
  kindOf,
  ownUpdates,
  textContent,
  titleOf,
  type Update
} from "./common.ts"

/** The most lines that a call shows of what is below it. */
const mostLines = 100

/** An agent below the root, as its line shows it. */
interface Row {
  subagent: Subagent
  state: SubagentState
  /** The call that runs, or ran last. */
  doing: string
}

const marks = { running: "●", asking: "?", settled: "✓" } as const

const line = ({ doing, state, subagent }: Row, depth: number): string => {
  const isFailed = state.type === "settled" && state.outcome.status !== "completed"
  const what = state.type === "settled"
    ? isFailed ? `: ${state.outcome.status.replaceAll("_", " ")}, ${reason(state.outcome)}` : ""
    : state.type === "asking"
    ? ": waits for an answer"
    : doing === ""
    ? ""
    : `: ${doing}`
  const mark = isFailed ? "✗" : marks[state.type]
  return `${"  ".repeat(depth)}- ${mark} ${visibleLine(`${subagent.agent}: ${subagent.title}${what}`).slice(0, 200)}`
}

/** What is shown in the calls of the root of everything below it. */
class Below {
  readonly #rows = new Map<string, Row>()
  readonly #calls = new Map<string, ToolPart>()
  readonly #told = new Map<PartID, string>()

  see({ state, subagent }: Extract<Change, { readonly type: "subagent" }>): void {
    const row = this.#rows.get(subagent.id)
    if (row === undefined) this.#rows.set(subagent.id, { subagent, state, doing: "" })
    else Object.assign(row, { subagent, state })
  }

  works(session: SessionID, call: ToolPart): void {
    const row = this.#rows.get(session)
    if (row !== undefined) row.doing = titleOf(call.tool, call.state)
  }

  /** The child of the root that a session is, or is below. */
  #top(session: string): Subagent | undefined {
    let row = this.#rows.get(session)
    while (row !== undefined) {
      const above = this.#rows.get(row.subagent.parentID)
      if (above === undefined) return row.subagent
      row = above
    }
    return undefined
  }

  #linesBelow(session: string, depth: number): ReadonlyArray<string> {
    const row = this.#rows.get(session)
    if (row === undefined) return []
    const children = [...this.#rows.values()].filter(({ subagent }) => subagent.parentID === session)
    return [line(row, depth), ...children.flatMap(({ subagent }) => this.#linesBelow(subagent.id, depth + 1))]
  }

  /** A child of the root, and what is below it, as lines. */
  #textOf(top: string): string {
    const lines = this.#linesBelow(top, 0)
    const hidden = lines.length - mostLines
    return [...lines.slice(0, mostLines), ...(hidden > 0 ? [`- … ${hidden} more`] : [])].join("\n")
  }

  /** What the call of the root shows now that something below it changed. */
  updates(session: SessionID, facts: Facts): ReadonlyArray<Update> {
    const top = this.#top(session)
    const call = top === undefined ? undefined : this.#calls.get(top.id)
    return top === undefined || call === undefined ? [] : this.#update(top.parentID, call, top.id, false, facts)
  }

  /** A call of the root that began a child, with what is below it. */
  called(root: SessionID, call: ToolPart, child: SessionID, isNew: boolean, facts: Facts): ReadonlyArray<Update> {
    this.#calls.set(child, call)
    return this.#update(root, call, child, isNew, facts)
  }

  /** Nothing where it looks as before. */
  #update(
    sessionId: SessionID,
    call: ToolPart,
    child: SessionID,
    isNew: boolean,
    facts: Facts
  ): ReadonlyArray<Update> {
    const text = this.#textOf(child)
    const { content = [], ...fields } = callFields(call, facts.directory)
    const told = { ...fields, content: [...(text === "" ? [] : [textContent(text)]), ...content] }
    const seen = JSON.stringify(told)
    if (this.#told.get(call.id) === seen) return []
    this.#told.set(call.id, seen)
    const update = isNew
      ? { sessionUpdate: "tool_call", ...told } as const
      : { sessionUpdate: "tool_call_update", ...told } as const
    return [{ sessionId, update }]
  }
}

/** Makes the encoder for the tree of this root. */
export const flat = (root: SessionID, facts: Facts): Encoder => {
  const below = new Below()
  /** Calls below the root that the client knows, because it was asked about them. */
  const shown = new Set<string>()

  const call = (change: Extract<Change, { readonly type: "call" }>): ReadonlyArray<Update> => {
    if (change.session !== root) {
      below.works(change.session, change.call)
      const { status, toolCallId } = callFields(change.call, facts.directory)
      const isOver = status === "completed" || status === "failed"
      const told = shown.has(toolCallId) && isOver
        ? [{ sessionId: root, update: { sessionUpdate: "tool_call_update", toolCallId, status } } as const]
        : []
      return [...told, ...below.updates(change.session, facts)]
    }
    return change.child === undefined
      ? ownUpdates(change, facts).map((update) => ({ sessionId: root, update }))
      : below.called(root, change.call, change.child, change.isNew, facts)
  }

  /** The client sees a call below the root before it gets the request for permission. */
  const asked = (
    { ask, call: asking, session }: Extract<Change, { readonly type: "asked" }>
  ): ReadonlyArray<Update> => {
    const toolCallId = ask.kind === "permission" ? ask.request.partID ?? ask.request.id : ask.request.id
    if (session === root || shown.has(toolCallId)) return []
    shown.add(toolCallId)
    const kind = asking === undefined ? "other" : kindOf(asking.tool)
    return [{
      sessionId: root,
      update: { sessionUpdate: "tool_call", toolCallId, title: askTitle(ask), kind, status: "pending" }
    }]
  }

  return {
    isNested: false,
    sessionOf: () => root,
    encode: (change) => {
      if (change.type === "call") return call(change)
      if (change.type === "asked") return asked(change)
      if (change.type === "subagent") {
        below.see(change)
        return below.updates(change.subagent.id, facts)
      }
      return change.session === root
        ? ownUpdates(change, facts).map((update) => ({ sessionId: root, update }))
        : []
    }
  }
}
