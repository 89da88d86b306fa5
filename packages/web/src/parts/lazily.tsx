/** Loads a part of the page when it is first shown. */
import type { ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { pause } from "../state/clock.ts"
import { Loading, Problem } from "./Notices.tsx"

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
