/** Decides which URL means what: every session, view and agent has one. */
import { signal } from "@preact/signals"

/** The views of a session. */
export const views = ["tree", "timeline", "transcript"] as const
/** The name of a view. */
export type View = typeof views[number]

/** What a URL means. */
export type Route =
  | { readonly page: "home" }
  | { readonly page: "new" }
  | { readonly page: "session"; readonly session: string; readonly view: View; readonly node: string | undefined }

const isView = (text: string | undefined): text is View => views.some((view) => view === text)

/** What a path means; whatever means nothing is home. */
const parse = (path: string): Route => {
  const [, area, session, view, node] = path.split("/")
  if (area === "s" && session === "new") return { page: "new" }
  if (area !== "s" || session === undefined || session === "") return { page: "home" }
  return { page: "session", session, view: isView(view) ? view : "tree", node: node === "" ? undefined : node }
}

/** The path of a session, of one of its views, or of an agent in it. */
export const pathOf = (session: string, view?: View, node?: string): string =>
  ["/s", session, ...(view === undefined ? [] : [view]), ...(node === undefined ? [] : [node])].join("/")

/** Where the page is. */
export const route = signal<Route>(parse(location.pathname))

/** Goes somewhere; `replace` leaves no step to go back to. */
export const go = (path: string, replace = false): void => {
  if (path === location.pathname) return
  if (replace) history.replaceState(null, "", path)
  else history.pushState(null, "", path)
  route.value = parse(path)
}

const isPlain = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey

/** Follows links within the page without loading it again. */
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
