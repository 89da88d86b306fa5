/** Maps URLs: every session, view and agent has one. */
import { signal } from "@preact/signals"

/** The views of a session. */
export const views = ["tree", "timeline", "transcript"] as const
/** The name of a view. */
export type View = typeof views[number]

/** The meaning of a URL. */
export type Route =
  | { readonly page: "home" }
  | { readonly page: "new" }
  | { readonly page: "cluster" }
  | { readonly page: "session"; readonly session: string; readonly view: View; readonly node: string | undefined }

const isView = (text: string | undefined): text is View => views.some((view) => view === text)

/** The route of a path. An unknown path is home. */
const parse = (path: string): Route => {
  const [, area, session, view, node] = path.split("/")
  if (area === "cluster") return { page: "cluster" }
  if (area === "s" && session === "new") return { page: "new" }
  if (area !== "s" || session === undefined || session === "") return { page: "home" }
  return { page: "session", session, view: isView(view) ? view : "tree", node: node === "" ? undefined : node }
}

/** The path of a session, of one of its views, or of an agent in it. */
export const pathOf = (session: string, view?: View, node?: string): string =>
  ["/s", session, ...(view === undefined ? [] : [view]), ...(node === undefined ? [] : [node])].join("/")

/** The current route. */
export const route = signal<Route>(parse(location.pathname))

/** Navigates; `replace` adds no entry to the history. */
export const go = (path: string, replace = false): void => {
  if (path === location.pathname) return
  if (replace) history.replaceState(null, "", path)
  else history.pushState(null, "", path)
  route.value = parse(path)
}

const isPlain = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey

/** Follows links within the page without reloading it. */
export const startRouting = (): void => {
  addEventListener("popstate", () => route.value = parse(location.pathname))
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null
    if (link === null || event.defaultPrevented || !isPlain(event)) return
    if (link.origin !== location.origin || link.target !== "") return
    event.preventDefault()
    go(link.pathname)
  })
}
