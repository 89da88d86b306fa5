/**
 * Draws a placeholder for what is not there: data that is empty, failed or loading, or a part of the page that loads
 * when it is shown.
 */
import type { ComponentChildren, ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { pause } from "../state/clock.ts"

/** Something is wrong. */
export const Problem = ({ text }: { readonly text: string }) => <p class="notice problem" role="alert">{text}</p>

/** There is nothing to show, and what to do about it. */
export const Empty = ({ children, title }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="notice empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** The data is loading: the shape of what will come. */
export const Loading = ({ rows = 6 }: { readonly rows?: number }) => (
  <div class="loading" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, row) => <div key={row} class="bone" />)}
  </div>
)

/** How long to wait before a part that failed to load is loaded again, in milliseconds. */
const pace = 2_000

const failed =
  "This view could not be loaded. It is loaded again once the server is back; if it stays missing then, reload the page."

/** A component that is loaded when it is first drawn, and again and again while that fails. */
export const lazily = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  let Loaded: ComponentType<P> | undefined
  return (props: P) => {
    const [state, setState] = useState<"loading" | "here" | "failed">("loading")
    useEffect(() => {
      const end = new AbortController()
      const begin = async () => {
        while (!end.signal.aborted && Loaded === undefined) {
          try {
            Loaded = await load()
            setState("here")
          } catch {
            setState("failed")
            await pause(pace, end.signal)
          }
        }
      }
      void begin()
      return () => end.abort()
    }, [])
    if (Loaded !== undefined) return <Loaded {...props} />
    return state === "failed" ? <Problem text={failed} /> : <Loading />
  }
}
