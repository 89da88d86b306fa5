/** Draws only the visible rows of a long list. All rows have the same height. */
import type { ComponentChildren, HTMLAttributes } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"

/** How many additional rows are drawn above and below. */
const margin = 8

interface Props {
  readonly count: number
  readonly rowHeight: number
  readonly row: (index: number) => ComponentChildren
  /** The row that has to be visible. */
  readonly shown?: number | undefined
  readonly attributes?: HTMLAttributes<HTMLDivElement>
}

/** The list. It scrolls with the nearest element that has `data-scroller`. */
export const VirtualList = ({ attributes = {}, count, row, rowHeight, shown }: Props) => {
  const list = useRef<HTMLDivElement>(null)
  const [{ from, to }, setRange] = useState({ from: 0, to: 40 })

  useLayoutEffect(() => {
    const scroller = list.current?.closest("[data-scroller]")
    if (scroller === null || scroller === undefined) return
    const look = () => {
      const above = scroller.getBoundingClientRect().top - (list.current?.getBoundingClientRect().top ?? 0)
      const first = Math.max(0, Math.floor(above / rowHeight) - margin)
      const last = Math.max(first, Math.ceil((above + scroller.clientHeight) / rowHeight) + margin)
      setRange((range) => range.from === first && range.to === last ? range : { from: first, to: last })
    }
    look()
    const sizes = new ResizeObserver(look)
    sizes.observe(scroller)
    scroller.addEventListener("scroll", look, { passive: true })
    return () => {
      sizes.disconnect()
      scroller.removeEventListener("scroll", look)
    }
  }, [rowHeight, count])

  useLayoutEffect(() => {
    const scroller = list.current?.closest("[data-scroller]")
    if (shown === undefined || shown < 0 || list.current === null || scroller === null || scroller === undefined) return
    const box = scroller.getBoundingClientRect()
    const top = list.current.getBoundingClientRect().top + shown * rowHeight
    if (top < box.top) scroller.scrollTop -= box.top - top
    else if (top + rowHeight > box.bottom) scroller.scrollTop += top + rowHeight - box.bottom
  }, [shown, rowHeight])

  const first = Math.min(from, count)
  const rows = Array.from({ length: Math.max(0, Math.min(to, count) - first) }, (_, index) => row(first + index))
  return (
    <div
      {...attributes}
      ref={list}
      class={`virtual ${attributes.class ?? ""}`}
      style={{ height: `${count * rowHeight}px` }}
    >
      <div role="presentation" class="window" style={{ transform: `translateY(${first * rowHeight}px)` }}>{rows}</div>
    </div>
  )
}
