/** Owns time in the page: the current time, and timers. Nothing else reads a clock or sets a timer. */
import { signal } from "@preact/signals"

/** Milliseconds since 1970. */
export const read = (): number => Date.now()

/** Runs something once, later. The returned function cancels it. */
export const after = (milliseconds: number, run: () => void): () => void => {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

/** Waits, unless the signal ends it. */
export const pause = (milliseconds: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const cancel = after(milliseconds, resolve)
    ended.addEventListener("abort", () => {
      cancel()
      resolve()
    }, { once: true })
  })

/** The time that is shown. It advances once a second. */
export const now = signal(read())

const tick = (): void => {
  // A hidden page needs no time.
  if (!document.hidden) now.value = read()
  after(1_000, tick)
}

/** Starts the time that is shown. */
export const startClock = (): void => {
  tick()
  document.addEventListener("visibilitychange", () => now.value = read())
}

/** How often changes are drawn, in milliseconds: ten times a second. */
const pace = 100

/** Draws at most ten times a second, however often something changes. */
export const coalesce = (draw: () => void): () => void => {
  let waits = false
  return () => {
    if (waits) return
    waits = true
    after(pace, () => {
      waits = false
      draw()
    })
  }
}
