/** Draws a placeholder for data: empty, failed, or still loading. */
import type { ComponentChildren } from "preact"

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
