/** Draws a session: its questions, one of its views, and the actions. All views share one selection. */
import { visibleLine } from "@skein/view/Visible"
import { useMemo, useRef, useState } from "preact/hooks"
import { Asks } from "../parts/Asks.tsx"
import { lazily, Loading } from "../parts/Notices.tsx"
import { isWide } from "../state/media.ts"
import { pathOf, type Route, type View, views } from "../state/route.ts"
import type { TreeStore } from "../state/TreeStore.ts"
import { nameOf } from "../state/wishes.ts"
import { Actions } from "./Actions.tsx"
import { TreeView } from "./TreeView.tsx"

interface Props {
  readonly store: TreeStore
  readonly route: Extract<Route, { readonly page: "session" }>
}

/** Home needs neither, and many never open the timeline. */
const TranscriptView = lazily(() => import("./TranscriptView.tsx").then((found) => found.TranscriptView))
const TimelineView = lazily(() => import("./TimelineView.tsx").then((found) => found.TimelineView))

const names: Record<View, string> = { tree: "Tree", timeline: "Timeline", transcript: "Transcript" }

const Tabs = ({ node, session, view }: { readonly session: string; readonly view: View; readonly node: string }) => (
  <nav class="tabs" aria-label="Views">
    {views.map((each) => (
      <a key={each} href={pathOf(session, each, node)} aria-current={each === view ? "page" : undefined}>
        {names[each]}
      </a>
    ))}
  </nav>
)

/** The page of a session. */
export const SessionPage = ({ route, store }: Props) => {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const field = useRef<HTMLTextAreaElement>(null)
  const mark = useMemo(() => (id: string) =>
    setMarked((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    }), [])
  const revision = store.revision.value
  const { tree } = store
  if (tree === undefined) return store.problem.value === undefined ? <Loading /> : null
  const { view } = route
  const node = tree.node(route.node ?? tree.root.id) ?? tree.root
  const chosen = [...marked].flatMap((id) => tree.node(id) ?? [])
  const hasBoth = isWide.value && view !== "transcript"
  return (
    <div class={`page session-page${hasBoth ? " both" : ""}`} data-revision={revision}>
      <h1 class="unseen">{visibleLine(tree.root.title)}</h1>
      <Tabs session={store.id} view={view} node={node.id} />
      <Asks asks={store.asks.all} />
      <div class="columns">
        <div class="main" data-scroller={hasBoth ? "" : undefined}>
          {view === "tree" && (
            <TreeView
              store={store}
              selected={node.id}
              marked={marked}
              mark={mark}
              focusMessage={() => field.current?.focus()}
            />
          )}
          {view === "timeline" && <TimelineView store={store} selected={node.id} />}
          {view === "transcript" && <TranscriptView store={store} node={node} />}
        </div>
        {hasBoth && (
          <aside class="side" data-scroller tabIndex={0} aria-label={`Transcript of ${visibleLine(nameOf(node))}`}>
            <TranscriptView store={store} node={node} />
          </aside>
        )}
      </div>
      <Actions
        nodes={chosen.length > 0 ? chosen : [node]}
        field={field}
        clear={() => setMarked(new Set())}
      />
    </div>
  )
}
