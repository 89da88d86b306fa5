/** Draws the lane of one agent. */
import type { Span } from "@skein/api/Output"
import { phaseOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import { formatDuration } from "@skein/view/Numbers"
import type { Stretch } from "@skein/view/Timeline"
import { visibleLine } from "@skein/view/Visible"
import { Glyph } from "../parts/Glyph.tsx"
import { kinds, lineOf, meanings, pathsOf, spanAt, stripOf, summaryOf, type Window } from "../state/lanes.ts"
import { nameOf } from "../state/wishes.ts"

/** The id of the element of an agent's lane. */
export const laneID = (id: string): string => `lane-${id}`

interface LaneProps {
  readonly node: AgentNode
  readonly spans: ReadonlyArray<Span>
  readonly window: Window
  readonly width: number
  readonly time: number
  readonly isSelected: boolean
  readonly critical: ReadonlyArray<Stretch>
}

/** The lane. */
export const Lane = ({ critical, isSelected, node, spans, time, width, window }: LaneProps) => {
  const name = visibleLine(nameOf(node).slice(0, 200))
  const phase = phaseOf(node)
  const line = lineOf(node, window, width, time)
  const paths = pathsOf(spans, window, width, time)
  const strip = stripOf(critical, window, width)
  const onMove = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect()
    const scale = (window.to - window.from) / Math.max(1, box.width)
    const span = spanAt(spans, window.from + (event.clientX - box.left) * scale, 2 * scale, time)
    const text = span === undefined
      ? ""
      : `${meanings[span.kind]}: ${visibleLine(span.label)}, ${formatDuration((span.end ?? time) - span.start)}`
    event.currentTarget.parentElement?.setAttribute("title", text)
  }
  return (
    <div
      role="option"
      id={laneID(node.id)}
      class={`lane${isSelected ? " selected" : ""}`}
      aria-selected={isSelected}
      aria-label={`${name}, ${visibleLine(node.agent)}, ${phase}: ${summaryOf(spans, time)}${
        critical.length === 0 ? "" : ", on the critical path"
      }`}
      data-node={node.id}
    >
      <span class="name" aria-hidden="true">
        <Glyph phase={phase} />
        <span>{name}</span>
      </span>
      <svg class="spans" aria-hidden="true" onMouseMove={onMove}>
        {line !== undefined && <path class="idle" d={`M${line[0]} 11H${line[1]}`} />}
        {kinds.map((kind) => paths.has(kind) && <path key={kind} class={kind} d={paths.get(kind)} />)}
        {strip !== "" && <path class="critical" d={strip} />}
      </svg>
    </div>
  )
}
