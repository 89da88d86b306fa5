/** Draws the list of all sessions, by what they need. */
import { tokensOf } from "@skein/view/AgentTree"
import { formatAgo, formatCost, formatCount } from "@skein/view/Numbers"
import { type Group, placeOf, type SessionRow } from "@skein/view/SessionGroups"
import { useState } from "preact/hooks"
import { Asks } from "../parts/Asks.tsx"
import { Glyph, phaseOfGroup } from "../parts/Glyph.tsx"
import { Empty, Loading } from "../parts/Notices.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { now } from "../state/clock.ts"
import type { HomeStore } from "../state/HomeStore.ts"
import { isNarrow } from "../state/media.ts"
import { pathOf } from "../state/route.ts"

/** How many finished sessions are shown at first. */
const fewDone = 12

const Row = ({ count, index, of }: { readonly of: SessionRow; readonly index: number; readonly count: number }) => {
  const { session } = of
  const { group, why } = placeOf(of)
  const { cost } = session.usage.subtree
  return (
    <div role="listitem" class="item" aria-posinset={index + 1} aria-setsize={count}>
      <a class="session" href={pathOf(session.id)} data-row>
        <Glyph phase={phaseOfGroup[group]} />
        <span class="title">{session.title === "" ? "Untitled" : session.title}</span>
        <span class="why">{why}</span>
        <span class="agent">{session.agent}</span>
        <span class="directory" title={session.directory}>{session.directory.split("/").at(-1)}</span>
        <span class="figure">
          {formatCount(tokensOf(session.usage.subtree))} <span class="unit">tokens</span>
        </span>
        <span class="figure">{cost === "unknown" ? "" : formatCost(cost)}</span>
        <span class="figure ago">{formatAgo(now.value - session.time.updated)}</span>
      </a>
    </div>
  )
}

const Section = ({ group, rows }: { readonly group: Group; readonly rows: ReadonlyArray<SessionRow> }) => {
  const [all, showAll] = useState(false)
  const isLong = group === "done" || group === "drafts"
  const shown = isLong && !all ? rows.slice(0, fewDone) : rows
  const id = `group-${group.replace(" ", "-")}`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {group[0]?.toUpperCase()}
        {group.slice(1)} <span class="count">{rows.length}</span>
      </h2>
      <VirtualList
        count={shown.length}
        rowHeight={isNarrow.value ? 60 : 40}
        attributes={{ role: "list", "aria-labelledby": id }}
        row={(index) => {
          const of = shown[index]
          return of === undefined ? null : <Row key={of.session.id} of={of} index={index} count={rows.length} />
        }}
      />
      {shown.length < rows.length && (
        <button type="button" class="quiet" onClick={() => showAll(true)}>Show all {rows.length} {group}</button>
      )}
    </section>
  )
}

/** Moves between the rows with the arrow keys. */
const onKey = (event: KeyboardEvent): void => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
  if (!(event.currentTarget instanceof HTMLElement) || !(event.target instanceof HTMLAnchorElement)) return
  const rows = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>("a[data-row]")]
  const next = rows[rows.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}

/** Home. */
export const Home = ({ store }: { readonly store: HomeStore }) => {
  void store.revision.value
  if (!store.isLoaded) return store.problem.value === undefined ? <Loading rows={8} /> : null
  const groups = store.groups
  return (
    <div class="page" onKeyDown={onKey}>
      <h1 class="unseen">Sessions</h1>
      <Asks asks={store.asks.all} />
      {groups.length === 0 && (
        <Empty title="No sessions yet">
          <p>
            Begin one here, or run <code>skein run "…"</code> in a project.
          </p>
          <a class="button primary" href="/s/new">New session</a>
        </Empty>
      )}
      {groups.map(({ group, rows }) => <Section key={group} group={group} rows={rows} />)}
    </div>
  )
}
