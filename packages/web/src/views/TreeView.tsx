/** Draws a tree of agents: one row each, with the usual arrow keys of a tree. */
import { Component } from "preact"
import { useMemo, useRef, useState } from "preact/hooks"
import { Glyph } from "../parts/Glyph.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { pendingOf } from "../state/actions.ts"
import { now } from "../state/clock.ts"
import { isNarrow } from "../state/media.ts"
import { go, pathOf } from "../state/route.ts"
import { type Place, placesOf, type RowData, rowOf } from "../state/rows.ts"
import type { TreeStore } from "../state/TreeStore.ts"
import { canStop, stop } from "../state/wishes.ts"

/** The id of the element of an agent's row. */
const rowID = (id: string): string => `row-${id}`

interface RowProps extends Omit<Place, "node"> {
  readonly data: RowData
  readonly isSelected: boolean
  readonly isMarked: boolean
  readonly isCollapsed: boolean
  readonly pending: string | undefined
  readonly onSelect: (id: string) => void
  readonly onToggle: (id: string) => void
  readonly onMark: (id: string) => void
  readonly onStop: ((id: string) => void) | undefined
}

const isSame = (a: RowData, b: RowData): boolean =>
  (Object.keys(a) as ReadonlyArray<keyof RowData>).every((key) => a[key] === b[key])

/** A row. It is drawn again when its contents have changed. */
class TreeRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return !isSame(this.props.data, next.data)
      || (Object.keys(next) as ReadonlyArray<keyof RowProps>).some((key) =>
        key !== "data" && this.props[key] !== next[key]
      )
  }

  override render() {
    const { data, hasChildren, isCollapsed, isMarked, isSelected, level, pending, position, siblings } = this.props
    const { onMark, onSelect, onStop, onToggle } = this.props
    const { agent, background, cost, elapsed, id, lastTool, model, name, phase, state, tokens } = data
    const shown = pending ?? state
    const more = [background ? "in the background" : "", model, lastTool, tokens && `${tokens} tokens`, cost, elapsed]
    return (
      <div
        role="presentation"
        class={`row ${phase}${isSelected ? " selected" : ""}${isMarked ? " marked" : ""}`}
      >
        <span class="indent" style={{ width: `${Math.min(level - 1, 12) * 18}px` }} />
        <span
          class={`twist${hasChildren ? "" : " none"}${isCollapsed ? " closed" : ""}`}
          aria-hidden="true"
          onClick={() => onToggle(id)}
        />
        <Glyph phase={phase} />
        <span class="title" aria-hidden="true">{name}</span>
        <span class="agent" aria-hidden="true">{background ? `${agent} · background` : agent}</span>
        <span class="state" aria-hidden="true">{shown}</span>
        <span class="last" aria-hidden="true">{lastTool}</span>
        <span class="model" aria-hidden="true">{model}</span>
        <span class="figure tokens" aria-hidden="true">{tokens}</span>
        <span class="figure cost" aria-hidden="true">{cost}</span>
        <span class="figure elapsed" aria-hidden="true">{elapsed}</span>
        <div
          role="treeitem"
          id={rowID(id)}
          class="hit"
          title={`${name}\n${shown}`}
          aria-label={`${name}, ${agent}, ${shown}`}
          aria-description={more.filter((each) => each !== "").join(", ")}
          aria-level={level}
          aria-posinset={position}
          aria-setsize={siblings}
          aria-selected={isSelected || isMarked}
          {...(hasChildren ? { "aria-expanded": !isCollapsed } : {})}
          onClick={(event) => event.metaKey || event.ctrlKey ? onMark(id) : onSelect(id)}
        >
          {onStop !== undefined && (
            <button
              type="button"
              class="stop"
              tabIndex={-1}
              aria-label={`Stop ${name}`}
              onClick={(event) => {
                event.stopPropagation()
                onStop(id)
              }}
            >
              <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
                <rect x="4" y="4" width="8" height="8" />
              </svg>
            </button>
          )}
        </div>
      </div>
    )
  }
}

interface Props {
  readonly store: TreeStore
  readonly selected: string
  readonly marked: ReadonlySet<string>
  readonly mark: (id: string) => void
  readonly focusMessage: () => void
}

const toggled = (set: ReadonlySet<string>, id: string): ReadonlySet<string> => {
  const next = new Set(set)
  if (!next.delete(id)) next.add(id)
  return next
}

/** Where a key leads from a row: to another row, or to an open or closed one. */
const moveOf = (
  key: string,
  places: ReadonlyArray<Place>,
  at: number,
  collapsed: ReadonlySet<string>
): { readonly to: number } | { readonly toggle: string } | undefined => {
  const place = places[at]
  if (place === undefined) return undefined
  const isOpen = place.hasChildren && !collapsed.has(place.node.id)
  switch (key) {
    case "ArrowDown":
      return { to: Math.min(at + 1, places.length - 1) }
    case "ArrowUp":
      return { to: Math.max(at - 1, 0) }
    case "Home":
      return { to: 0 }
    case "End":
      return { to: places.length - 1 }
    case "PageDown":
      return { to: Math.min(at + 10, places.length - 1) }
    case "PageUp":
      return { to: Math.max(at - 10, 0) }
    case "ArrowRight":
      return isOpen ? { to: at + 1 } : place.hasChildren ? { toggle: place.node.id } : undefined
    case "ArrowLeft": {
      if (isOpen) return { toggle: place.node.id }
      const above = places.findLastIndex(({ level }, index) => index < at && level < place.level)
      return above < 0 ? undefined : { to: above }
    }
    default:
      return undefined
  }
}

/** The tree. */
export const TreeView = ({ focusMessage, mark, marked, selected, store }: Props) => {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const list = useRef<HTMLDivElement>(null)
  void store.revision.value
  const { tree } = store
  const select = useMemo(() => (id: string) => go(pathOf(store.id, "tree", id), true), [store])
  const toggle = useMemo(() => (id: string) => setCollapsed((before) => toggled(before, id)), [])
  const stopOne = useMemo(() => (id: string) => {
    const node = store.tree?.node(id)
    if (node !== undefined) void stop(node)
  }, [store])
  if (tree === undefined) return null
  const places = placesOf(tree, collapsed)
  const queue = tree.places
  const at = places.findIndex(({ node }) => node.id === selected)
  const time = now.value

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== list.current || event.ctrlKey || event.metaKey || event.altKey) return
    const node = places[at]?.node
    const move = moveOf(event.key, places, at < 0 ? 0 : at, collapsed)
    if (move !== undefined) {
      if ("toggle" in move) toggle(move.toggle)
      else select(places[move.to]?.node.id ?? tree.root.id)
    } else if (node === undefined) return
    else if (event.key === "Enter") go(pathOf(store.id, "transcript", node.id))
    else if (event.key === " " || event.key === "x") mark(node.id)
    else if (event.key === "s" && canStop(node)) stopOne(node.id)
    else if (event.key === "m") focusMessage()
    else return
    event.preventDefault()
  }

  return (
    <div
      ref={list}
      role="tree"
      class="tree"
      aria-label="Agents"
      aria-multiselectable="true"
      aria-activedescendant={at < 0 ? undefined : rowID(selected)}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <VirtualList
        count={places.length}
        rowHeight={isNarrow.value ? 60 : 34}
        shown={at}
        attributes={{ role: "presentation" }}
        row={(index) => {
          const place = places[index]
          if (place === undefined) return null
          const { node, ...where } = place
          const pending = pendingOf(node.id)
          return (
            <TreeRow
              key={node.id}
              {...where}
              data={rowOf(node, queue.get(node.id), time)}
              isSelected={node.id === selected}
              isMarked={marked.has(node.id)}
              isCollapsed={collapsed.has(node.id)}
              pending={pending === undefined ? undefined : pending.problem ?? `${pending.label} …`}
              onSelect={select}
              onToggle={toggle}
              onMark={mark}
              onStop={canStop(node) ? stopOne : undefined}
            />
          )
        }}
      />
    </div>
  )
}
