/** Loads a part of the page when it is first shown. */
import type { ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { Loading, Problem } from "./Notices.tsx"

/** A component that is loaded when it is first drawn. */
export const lazily = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  let Loaded: ComponentType<P> | undefined
  return (props: P) => {
    const [state, setState] = useState<"loading" | "here" | "failed">("loading")
    useEffect(() => {
      const begin = async () => {
        try {
          Loaded = await load()
          setState("here")
        } catch {
          setState("failed")
        }
      }
      if (Loaded === undefined) void begin()
    }, [])
    if (Loaded !== undefined) return <Loaded {...props} />
    return state === "failed"
      ? <Problem text="This view could not be loaded. Reload the page when the server is back." />
      : <Loading />
  }
}
