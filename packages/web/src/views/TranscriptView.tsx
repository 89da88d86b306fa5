/** Draws the conversation of a session as it grows. */
import type { MessageWithParts } from "@skein/domain/Part"
import type { AgentNode } from "@skein/view/AgentNode"
import { tokensOf } from "@skein/view/AgentTree"
import { formatCost, formatCount } from "@skein/view/Numbers"
import { visible, visibleLine } from "@skein/view/Visible"
import { Component } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { Empty, Loading, Problem } from "../parts/Notices.tsx"
import { Part } from "../parts/Part.tsx"
import type { TreeStore } from "../state/TreeStore.ts"
import { nameOf } from "../state/wishes.ts"

interface MessageProps {
  readonly message: MessageWithParts
}

const Head = ({ info }: Pick<MessageWithParts, "info">) => {
  if (info.role === "user") return <h3>{info.from === "agent" ? "From the agent above" : "You"}</h3>
  const tokens = tokensOf(info.usage)
  const { cost } = info.usage
  return (
    <h3>
      {visibleLine(info.agent)} <span class="unit">{visibleLine(info.modelID)}</span>
      {tokens > 0 && (
        <span class="figure">
          {formatCount(tokens)} tokens{cost === "unknown" || cost === "0" ? "" : ` · ${formatCost(cost)}`}
        </span>
      )}
    </h3>
  )
}

/** A message. It is drawn again when it has changed. */
class Message extends Component<MessageProps> {
  override shouldComponentUpdate({ message }: MessageProps): boolean {
    return message !== this.props.message
  }

  override render({ message: { info, parts } }: MessageProps) {
    return (
      <article class={`message ${info.role}`}>
        <Head info={info} />
        {parts.map((part) => <Part key={part.id} part={part} role={info.role} />)}
        {info.role === "assistant" && info.error !== undefined && <p class="problem">{visible(info.error.message)}</p>}
      </article>
    )
  }
}

/** Whether the end is visible. Then it stays visible while the transcript grows. */
const isAtEnd = (scroller: Element): boolean => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80

/** The transcript of an agent. */
export const TranscriptView = ({ node, store }: { readonly store: TreeStore; readonly node: AgentNode }) => {
  const end = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  useEffect(() => store.read(node.id), [store, node.id])
  const said = store.said.value
  useLayoutEffect(() => {
    const scroller = end.current?.closest("[data-scroller]")
    if (scroller === null || scroller === undefined) return
    if (atEnd.current) scroller.scrollTop = scroller.scrollHeight
    const look = () => atEnd.current = isAtEnd(scroller)
    scroller.addEventListener("scroll", look, { passive: true })
    return () => scroller.removeEventListener("scroll", look)
  }, [said])
  const messages = store.transcripts.of(node.id)
  const problem = store.readingProblem.value
  return (
    <div class="transcript">
      <h2>{visibleLine(nameOf(node))}</h2>
      {problem !== undefined && <Problem text={problem} />}
      {messages === undefined && problem === undefined && <Loading rows={3} />}
      {messages?.length === 0 && <Empty title="Nothing was said yet" />}
      {messages?.map((message) => <Message key={message.info.id} message={message} />)}
      <div ref={end} />
    </div>
  )
}
