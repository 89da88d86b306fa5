/** Draws a part of a message: texts, reasoning, calls with their results, and notes of the runtime. */
import type { MessageWithParts, Part as MessagePart, ToolPart } from "@skein/domain/Part"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import { visible, visibleLine } from "@skein/view/Visible"
import { useState } from "preact/hooks"
import { Diff } from "./Diff.tsx"
import { Glyph } from "./Glyph.tsx"
import { Markdown } from "./Markdown.tsx"

/** How much of an output is shown at first: lines, and at most this many characters. */
const folded = { lines: 14, characters: 4_000, most: 200_000 }

/** A long text: its beginning, and the rest on request. */
const Folded = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const [all, showAll] = useState(false)
  const lines = text.split("\n")
  const isLong = lines.length > folded.lines + 2 || text.length > folded.characters
  const shown = all || !isLong
    ? text.slice(0, folded.most)
    : lines.slice(0, folded.lines).join("\n").slice(0, folded.characters)
  return (
    <>
      <pre class="output" tabIndex={0} role="region" aria-label={label}>{visible(shown)}</pre>
      {isLong && !all && (
        <button type="button" class="quiet" onClick={() => showAll(true)}>Show all {lines.length} lines</button>
      )}
      {all && text.length > folded.most && <p class="quiet">Cut after {formatCount(folded.most)} characters.</p>}
    </>
  )
}

const inputText = (input: unknown): string =>
  typeof input === "string" ? input : JSON.stringify(input, undefined, 2) ?? String(input)

const titleOf = ({ state }: ToolPart): string => ("title" in state ? state.title : undefined) ?? ""

const timeOf = ({ state }: ToolPart): string =>
  "time" in state && state.time !== undefined && "end" in state.time
    ? formatDuration(state.time.end - state.time.start)
    : ""

const Result = ({ part }: { readonly part: ToolPart }) => {
  const { state } = part
  if (state.status === "error") return <p class="problem">{visible(state.error.message)}</p>
  if (state.status === "pending") return null
  const { diff, output: running } = state.metadata ?? {}
  if (typeof diff === "string") return <Diff text={diff} />
  const output = state.status === "completed" ? state.output : typeof running === "string" ? running : ""
  return output === "" ? null : <Folded text={output} label={`Output of ${part.tool}`} />
}

const phases = { pending: "waiting", running: "working", completed: "done", error: "failed" } as const

const Call = ({ part }: { readonly part: ToolPart }) => {
  const { state, tool } = part
  return (
    <details class={`call ${state.status}`} open={state.status !== "completed" || tool === "edit" || tool === "write"}>
      <summary>
        <Glyph phase={phases[state.status]} />
        <strong>{visibleLine(tool)}</strong> <span class="call-title">{visibleLine(titleOf(part).slice(0, 300))}</span>
        <span class="unseen">{state.status}</span>
        <span class="figure">{timeOf(part)}</span>
      </summary>
      <details class="input">
        <summary>Input</summary>
        <Folded text={inputText(state.input)} label={`Input of ${tool}`} />
      </details>
      <Result part={part} />
    </details>
  )
}

const Thought = ({ part }: { readonly part: Extract<MessagePart, { readonly type: "reasoning" }> }) =>
  part.text.trim() === "" ? null : (
    <details class="thought">
      <summary>
        {part.time?.end === undefined ? "Thinks" : `Thought for ${formatDuration(part.time.end - part.time.start)}`}
      </summary>
      <p class="plain">{visible(part.text)}</p>
    </details>
  )

const Text = (
  { part, role }: {
    readonly part: Extract<MessagePart, { readonly type: "text" }>
    readonly role: MessageWithParts["info"]["role"]
  }
) => {
  if (part.text.trim() === "") return null
  if (part.synthetic === true) {
    return (
      <details class="thought">
        <summary>From the runtime</summary>
        <p class="plain">{visible(part.text)}</p>
      </details>
    )
  }
  return role === "user"
    ? <p class="plain">{visible(part.text)}</p>
    : <Markdown text={part.text} grows={part.time !== undefined && part.time.end === undefined} />
}

/** A part. */
export const Part = (
  { part, role }: { readonly part: MessagePart; readonly role: MessageWithParts["info"]["role"] }
) => {
  switch (part.type) {
    case "text":
      return <Text part={part} role={role} />
    case "reasoning":
      return <Thought part={part} />
    case "tool":
      return <Call part={part} />
    case "subtask":
      return <p class="note">Task for {visibleLine(part.agent)}: {visible(part.description)}</p>
    case "file":
      return <p class="note">File: {visibleLine(part.filename ?? part.mime)}</p>
    case "retry":
      return <p class="note">Try {part.attempt} failed: {visible(part.error.message)}</p>
    case "compaction":
      return <p class="note">The conversation before this was summarised.</p>
    case "agent":
      return <p class="note">For {visibleLine(part.name)}</p>
    case "step-start":
    case "step-finish":
      return null
  }
}
