/** Draws one lane for each agent: when it worked, and what it waited for. */
import type { AgentTree } from "@skein/view/AgentTree"
import { formatDuration } from "@skein/view/Numbers"
import { criticalPath, type Stretch } from "@skein/view/Timeline"
import { visibleLine } from "@skein/view/Visible"
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { VirtualList } from "../parts/VirtualList.tsx"
import { now } from "../state/clock.ts"
import { kinds, meanings, ticksOf, type Window } from "../state/lanes.ts"
import { go, pathOf } from "../state/route.ts"
import { placesOf } from "../state/rows.ts"
import type { TreeStore } from "../state/TreeStore.ts"
import { nameOf } from "../state/wishes.ts"
import { moved, step, useGestures, zoomed } from "./gestures.ts"
import { Lane, laneID } from "./Lane.tsx"

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
