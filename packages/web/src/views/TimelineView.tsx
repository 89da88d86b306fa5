/** Draws one lane for each agent: when it worked, and what it waited for. */
import type { Span } from "@skein/api/Output"
import { phaseOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import type { AgentTree } from "@skein/view/AgentTree"
import { formatDuration } from "@skein/view/Numbers"
import { criticalPath, type Stretch } from "@skein/view/Timeline"
import { visibleLine } from "@skein/view/Visible"
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { Glyph } from "../parts/Glyph.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { now } from "../state/clock.ts"
import { kinds, lineOf, meanings, pathsOf, spanAt, stripOf, summaryOf, ticksOf, type Window } from "../state/lanes.ts"
import { go, pathOf } from "../state/route.ts"
import { placesOf } from "../state/rows.ts"
import type { TreeStore } from "../state/TreeStore.ts"
import { nameOf } from "../state/wishes.ts"

/** How far one step moves or zooms the window. */
const step = { pan: 0.15, zoom: 0.7 }

/** A window around the same middle, or around a given position in it (0 to 1). */
const zoomed = ({ from, to }: Window, factor: number, at = 0.5): Window => {
  const middle = from + (to - from) * at
  const length = Math.max(50, (to - from) * factor)
  return { from: middle - length * at, to: middle + length * (1 - at) }
}

const moved = ({ from, to }: Window, by: number): Window => ({
  from: from + (to - from) * by,
  to: to + (to - from) * by
})

/** Zooms with a pinch or Ctrl and the wheel, and pans by dragging, at most once a frame. */
const useGestures = (current: () => Window, change: (to: Window) => void) => {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = list.current
    if (element === null) return
    const place = (event: MouseEvent): number | undefined => {
      const box = element.querySelector("svg.spans")?.getBoundingClientRect()
      return box === undefined ? undefined : (event.clientX - box.left) / Math.max(1, box.width)
    }
    let next: Window | undefined
    const later = (to: Window) => {
      if (next === undefined) {
        requestAnimationFrame(() => {
          if (next !== undefined) change(next)
          next = undefined
        })
      }
      next = to
    }
    const onWheel = (event: WheelEvent) => {
      const at = place(event)
      if (!event.ctrlKey || at === undefined) return
      event.preventDefault()
      later(zoomed(next ?? current(), Math.exp(event.deltaY / 200), Math.min(1, Math.max(0, at))))
    }
    let drag: { readonly at: number; readonly from: Window } | undefined
    const onDown = (event: PointerEvent) => {
      const at = place(event)
      if (event.button === 0 && at !== undefined && at >= 0) drag = { at, from: current() }
    }
    const onMove = (event: PointerEvent) => {
      const at = place(event)
      if (drag !== undefined && at !== undefined && Math.abs(at - drag.at) > 0.003) {
        later(moved(drag.from, drag.at - at))
      }
    }
    const onUp = () => void (drag = undefined)
    element.addEventListener("wheel", onWheel, { passive: false })
    element.addEventListener("pointerdown", onDown)
    addEventListener("pointermove", onMove)
    addEventListener("pointerup", onUp)
    return () => {
      element.removeEventListener("wheel", onWheel)
      element.removeEventListener("pointerdown", onDown)
      removeEventListener("pointermove", onMove)
      removeEventListener("pointerup", onUp)
    }
  }, [])
  return list
}

/** The id of the element of an agent's lane. */
const laneID = (id: string): string => `lane-${id}`

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
const Lane = ({ critical, isSelected, node, spans, time, width, window }: LaneProps) => {
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

const nobody: ReadonlySet<string> = new Set()

const Legend = () => (
  <ul class="legend" aria-label="Legend">
    {([...kinds, "idle"] as const).map((kind) => (
      <li key={kind}>
        <svg class="spans" aria-hidden="true">
          <path class={kind} d={kind === "idle" ? "M0 6H22" : "M1 1H21V11H1z"} />
        </svg>
        {meanings[kind]}
      </li>
    ))}
  </ul>
)

const Hatches = () => (
  <svg class="hatches" aria-hidden="true">
    <defs>
      {["slot", "retry"].map((kind) => (
        <pattern key={kind} id={`hatch-${kind}`} width="5" height="5" patternUnits="userSpaceOnUse">
          <path d={kind === "slot" ? "M0 5L5 0" : "M0 0L5 5M0 5L5 0"} />
        </pattern>
      ))}
    </defs>
  </svg>
)

interface ToolsProps {
  readonly window: Window
  readonly change: (to: Window | undefined) => void
  readonly showsPath: boolean
  readonly showPath: (shows: boolean) => void
}

const Tools = ({ change, showPath, showsPath, window }: ToolsProps) => (
  <div class="tools">
    <button type="button" aria-label="Zoom in" onClick={() => change(zoomed(window, step.zoom))}>+</button>
    <button type="button" aria-label="Zoom out" onClick={() => change(zoomed(window, 1 / step.zoom))}>−</button>
    <button type="button" onClick={() => change(undefined)}>Fit</button>
    <button type="button" aria-pressed={showsPath} onClick={() => showPath(!showsPath)}>Critical path</button>
    <Legend />
  </div>
)

/** How much of a path is described in words. */
const longestPath = 40

const PathText = ({ path, tree }: { readonly path: ReadonlyArray<Stretch>; readonly tree: AgentTree }) => (
  <p class="path">
    {path.filter(({ end, start }) => end > start).slice(0, longestPath).map(({ end, id, start }) => {
      const node = tree.node(id)
      return `${node === undefined ? id : visibleLine(nameOf(node).slice(0, 60))} ${formatDuration(end - start)}`
    }).join(" → ")}
  </p>
)

/** The width of the lanes, in pixels. */
const useWidth = (list: { readonly current: HTMLDivElement | null }): number => {
  const [width, setWidth] = useState(600)
  useLayoutEffect(() => {
    const element = list.current
    if (element === null) return
    const look = () => setWidth(element.querySelector(".ticks")?.clientWidth ?? 600)
    const sizes = new ResizeObserver(look)
    sizes.observe(element)
    look()
    return () => sizes.disconnect()
  }, [])
  return Math.max(1, width)
}

interface Moves {
  readonly window: Window
  readonly change: (to: Window | undefined) => void
  /** Selects the lane this many rows further down. */
  readonly select: (by: number) => void
  readonly last: number
  /** Opens the selected agent. */
  readonly open: () => void
}

/** The actions of the keys. */
const keysOf = ({ change, last, open, select, window }: Moves): Readonly<Record<string, () => void>> => ({
  ArrowDown: () => select(1),
  ArrowUp: () => select(-1),
  Home: () => select(-last),
  End: () => select(last),
  ArrowLeft: () => change(moved(window, -step.pan)),
  ArrowRight: () => change(moved(window, step.pan)),
  "+": () => change(zoomed(window, step.zoom)),
  "-": () => change(zoomed(window, 1 / step.zoom)),
  "0": () => change(undefined),
  Enter: open
})

const press = (event: KeyboardEvent, keys: Readonly<Record<string, () => void>>): void => {
  const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
  if (act === undefined) return
  event.preventDefault()
  act()
}

/** The timeline. */
export const TimelineView = ({ selected, store }: { readonly store: TreeStore; readonly selected: string }) => {
  const [fixed, setFixed] = useState<Window | undefined>(undefined)
  const [showsPath, setShowsPath] = useState(false)
  void store.revision.value
  const { timeline, tree } = store
  const time = tree?.root.ended ?? now.value
  const origin = tree?.root.info?.time.created ?? tree?.root.began ?? 0
  const all: Window = { from: origin, to: Math.max(origin + 1_000, time) }
  const window = fixed ?? all
  const latest = useRef(window)
  latest.current = window
  const list = useGestures(() => latest.current, setFixed)
  const width = useWidth(list)
  const places = tree === undefined ? [] : placesOf(tree, nobody)
  const path = useMemo(
    () => tree === undefined || !showsPath ? [] : criticalPath(tree.root, time),
    [showsPath, tree, store.revision.value]
  )
  if (tree === undefined) return null
  const at = places.findIndex(({ node }) => node.id === selected)
  const select = (index: number) => {
    const node = places[Math.min(places.length - 1, Math.max(0, index))]?.node
    if (node !== undefined) go(pathOf(store.id, "timeline", node.id), true)
  }
  const open = () => go(pathOf(store.id, "transcript", selected))
  const keys = keysOf({ window, change: setFixed, select: (by) => select(at + by), last: places.length, open })
  return (
    <>
      <Hatches />
      <Tools window={window} change={setFixed} showsPath={showsPath} showPath={setShowsPath} />
      {showsPath && <PathText tree={tree} path={path} />}
      <div ref={list}>
        <div class="lanes-head" aria-hidden="true">
          <span>Agent</span>
          <div class="ticks">
            {ticksOf(window, width, origin).map(([x, text]) => <span key={text} style={{ left: `${x}px` }}>{text}
            </span>)}
          </div>
        </div>
        <div
          role="listbox"
          class="lanes"
          aria-label="Timeline"
          tabIndex={0}
          aria-activedescendant={at < 0 ? undefined : laneID(selected)}
          onKeyDown={(event) => press(event, keys)}
          onClick={(event) => {
            const lane = event.target instanceof Element ? event.target.closest("[data-node]") : null
            if (lane !== null) select(places.findIndex(({ node }) => node.id === lane.getAttribute("data-node")))
          }}
        >
          <VirtualList
            count={places.length}
            rowHeight={28}
            shown={at}
            attributes={{ role: "presentation" }}
            row={(index) => {
              const node = places[index]?.node
              return node === undefined ? null : (
                <Lane
                  key={node.id}
                  node={node}
                  spans={timeline.of(node.id)}
                  window={window}
                  width={width}
                  time={time}
                  isSelected={node.id === selected}
                  critical={path.filter(({ id }) => id === node.id)}
                />
              )
            }}
          />
        </div>
      </div>
    </>
  )
}
