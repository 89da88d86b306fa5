/** Draws one agent of the tree. */
import { Component } from "preact"
import { Glyph } from "../parts/Glyph.tsx"
import type { Place, RowData } from "../state/rows.ts"

/** The id of the element of an agent's row. */
export const rowID = (id: string): string => `row-${id}`

interface Props extends Omit<Place, "node"> {
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
export class TreeRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return !isSame(this.props.data, next.data)
      || (Object.keys(next) as ReadonlyArray<keyof Props>).some((key) =>
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
