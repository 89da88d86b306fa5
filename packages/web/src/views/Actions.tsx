/** Draws the actions for the selected agent, or for all marked ones. */
import type { AgentNode } from "@skein/view/AgentNode"
import { visibleLine } from "@skein/view/Visible"
import type { RefObject } from "preact"
import { useState } from "preact/hooks"
import { dismiss, pendingOf } from "../state/actions.ts"
import { canPromote, canResume, canStop, nameOf, promote, resume, say, stop } from "../state/wishes.ts"

interface Props {
  readonly nodes: ReadonlyArray<AgentNode>
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly clear: () => void
}

const Buttons = ({ clear, nodes }: Pick<Props, "clear" | "nodes">) => {
  const who = nodes.length === 1 && nodes[0] !== undefined ? visibleLine(nameOf(nodes[0])) : `${nodes.length} agents`
  const offer = (label: string, can: (node: AgentNode) => boolean, act: (node: AgentNode) => Promise<boolean>) => {
    const able = nodes.filter(can)
    return able.length === 0 ? null : (
      <button
        type="button"
        class={label === "Stop" ? "danger" : ""}
        aria-label={`${label} ${who}`}
        onClick={() => void Promise.all(able.map(act))}
      >
        {label}
      </button>
    )
  }
  return (
    <div class="buttons" role="group" aria-label={`Actions for ${who}`}>
      <span class="who">{who}</span>
      {offer("Stop", canStop, stop)}
      {offer("Background", canPromote, promote)}
      {offer("Resume", canResume, resume)}
      {nodes.length > 1 && <button type="button" class="quiet" onClick={clear}>Clear</button>}
    </div>
  )
}

const Problems = ({ nodes }: Pick<Props, "nodes">) => {
  const failed = nodes.flatMap(({ id }) => {
    const pending = pendingOf(id)
    return pending?.problem === undefined ? [] : [pending]
  })
  return (
    <>
      {failed.map(({ about, problem }) => (
        <p key={about} class="problem" role="alert">
          {problem} <button type="button" class="quiet" onClick={() => dismiss(about)}>Dismiss</button>
        </p>
      ))}
    </>
  )
}

/** The bar below the tree. */
export const Actions = ({ clear, field, nodes }: Props) => {
  const [text, setText] = useState("")
  const [first] = nodes
  if (first === undefined) return null
  const toRoot = nodes.length === 1 && first.parentID === undefined
  const label = toRoot ? "Prompt" : nodes.length === 1 ? `Message to ${visibleLine(nameOf(first))}` : "Message to all"
  const isPending = nodes.some(({ id }) => pendingOf(id)?.label === "Sending" && pendingOf(id)?.problem === undefined)
  const send = async () => {
    if (text.trim() === "" || isPending) return
    const sent = await Promise.all(nodes.map((node) => say(node, text)))
    if (sent.every((each) => each)) setText("")
  }
  return (
    <section class="actions" aria-label="Actions">
      <Buttons nodes={nodes} clear={clear} />
      <Problems nodes={nodes} />
      <form
        class="say"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <textarea
          ref={field}
          rows={1}
          aria-label={label}
          placeholder={label}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
            event.preventDefault()
            void send()
          }}
        />
        <button type="submit" class="primary" disabled={text.trim() === "" || isPending}>
          {isPending ? "Sending …" : "Send"}
        </button>
      </form>
    </section>
  )
}
