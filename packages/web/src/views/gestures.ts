/** Zooms and pans a timeline with the wheel and by dragging. */
import { useLayoutEffect, useRef } from "preact/hooks"
import type { Window } from "../state/lanes.ts"

/** How far one step moves or zooms the window. */
export const step = { pan: 0.15, zoom: 0.7 }

/** A window around the same middle, or around a given position in it (0 to 1). */
export const zoomed = ({ from, to }: Window, factor: number, at = 0.5): Window => {
  const middle = from + (to - from) * at
  const length = Math.max(50, (to - from) * factor)
  return { from: middle - length * at, to: middle + length * (1 - at) }
}

export const moved = ({ from, to }: Window, by: number): Window => ({
  from: from + (to - from) * by,
  to: to + (to - from) * by
})

/** Zooms with a pinch or Ctrl and the wheel, and pans by dragging, at most once a frame. */
export const useGestures = (current: () => Window, change: (to: Window) => void) => {
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
