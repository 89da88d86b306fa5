/** Draws the servers of a cluster: what each holds and works on, and which trees moved. */
import type { Cluster } from "@skein/api/Output"
import { formatAgo, formatDuration } from "@skein/view/Numbers"
import { visibleLine } from "@skein/view/Visible"
import { heardTime } from "../parts/Bar.tsx"
import { Glyph } from "../parts/Glyph.tsx"
import { Empty, Loading } from "../parts/Notices.tsx"
import type { ClusterStore } from "../state/ClusterStore.ts"
import { isOld } from "../state/current.ts"
import { pathOf } from "../state/route.ts"

type Runner = Cluster["runners"][number]
type Takeover = Cluster["takeovers"][number]

/** For how long a tree that moved is marked, in milliseconds. */
const fresh = 10_000

/** How many takeovers are listed. */
const listed = 20

const phases = { alive: "working", silent: "waiting", dead: "failed" } as const

const nameOf = (url: string): string => url.replace(/^https?:\/\//, "")

const said = ({ silence, state }: Runner): string =>
  state === "alive" ? "alive" : `${state === "dead" ? "dead" : "silent"}, last seen ${formatDuration(silence)} ago`

/** What works now, and what waits, as parts of the most that any server has. */
const Load = ({ most, name, now, then }: {
  readonly name: string
  readonly now: number
  readonly then: number
  readonly most: number
}) => (
  <>
    <dt>{name}</dt>
    <dd class="bar-line" aria-hidden="true">
      <span class="now" style={{ width: `${100 * now / most}%` }} />
      <span class="then" style={{ width: `${100 * then / most}%` }} />
    </dd>
    <dd>
      {now}
      {then > 0 && <span class="soft">+ {then} waiting</span>}
    </dd>
  </>
)

interface Most {
  readonly agents: number
  readonly requests: number
  readonly trees: number
}

const Server = ({ isCurrent, most, moved, of }: {
  readonly isCurrent: boolean
  readonly of: Runner
  readonly most: Most
  readonly moved: ReadonlySet<string>
}) => (
  <li
    class={`server ${isCurrent ? of.state : "old"}`}
    aria-label={`Server ${nameOf(of.url)}, ${isCurrent ? of.state : `${of.state} at ${heardTime()}`}`}
  >
    <header>
      <Glyph phase={isCurrent ? phases[of.state] : "waiting"} />
      <h3>{nameOf(of.url)}</h3>
      <span class="soft">{isCurrent ? said(of) : `${said(of)} at ${heardTime()}, unknown since then`}</span>
    </header>
    <p class="soft">
      {of.host}, process {of.pid}
      {of.version === undefined ? "" : `, version ${of.version}`}, started {formatDuration(of.age)} ago, took up{" "}
      {of.load.takeovers} after failures{of.load.asking === 0 ? "" : `, ${of.load.asking} asked of people`}
    </p>
    <dl class="load">
      <Load name="Trees" now={of.trees} then={0} most={most.trees} />
      <Load name="Agents" now={of.load.running} then={of.load.queued} most={most.agents} />
      <Load name="Requests" now={of.load.sent} then={of.load.waiting} most={most.requests} />
    </dl>
    <ul class="held" aria-label={`Trees of ${nameOf(of.url)}`}>
      {of.held.map(({ id, title }) => (
        <li key={id}>
          <a class={moved.has(id) ? "moved" : undefined} href={pathOf(id)} title={visibleLine(title)}>
            {visibleLine(title) || "Untitled"}
            {moved.has(id) && <span class="unseen">, taken over</span>}
          </a>
        </li>
      ))}
      {of.trees > of.held.length && <li class="soft">and {of.trees - of.held.length} more</li>}
    </ul>
  </li>
)

const causes = { died: "failure", left: "server ended", moved: "agents waited" } as const

const Takeovers = ({ all }: { readonly all: ReadonlyArray<Takeover> }) => {
  const longest = Math.max(...all.map(({ took }) => took), 1)
  return (
    <>
      <h2 id="takeovers">
        Takeovers of the last hour <span class="count">{all.length}</span>
      </h2>
      <div class="moves-scroll" data-scroller tabIndex={0} role="region" aria-labelledby="takeovers">
        <table class="moves">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Tree</th>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col">Why</th>
              <th scope="col" colSpan={2}>Without a server</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, listed).map(({ ago, from, rootID, to, took, why }) => (
              <tr key={`${rootID} ${to} ${took}`}>
                <td>{ago < 60_000 ? `${Math.round(ago / 1_000)} s ago` : formatAgo(ago)}</td>
                <td>
                  <a href={pathOf(rootID)}>{rootID.slice(-8)}</a>
                </td>
                <td>{from === undefined ? <span class="soft">unknown</span> : nameOf(from)}</td>
                <td>{nameOf(to)}</td>
                <td>{causes[why]}</td>
                <td>{formatDuration(took)}</td>
                <td class="grown" aria-hidden="true">
                  <div class="bar-line" style={{ width: `${100 * took / longest}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

/** The servers. */
export const ClusterView = ({ store }: { readonly store: ClusterStore }) => {
  void store.revision.value
  const { status } = store
  if (status === undefined) return store.problem.value === undefined ? <Loading /> : null
  const { runners, takeovers, waiting } = status
  const atMost = (of: (runner: Runner) => number) => Math.max(1, ...runners.map(of))
  const most = {
    trees: atMost(({ trees }) => trees),
    agents: atMost(({ load }) => load.running + load.queued),
    requests: atMost(({ load }) => load.sent + load.waiting)
  }
  const moved = new Set(takeovers.filter(({ ago }) => ago < fresh).map(({ rootID }) => rootID))
  return (
    <div class="page">
      <h1 class="unseen">Servers</h1>
      <h2>
        Servers <span class="count">{runners.length}</span>
      </h2>
      {runners.length === 0 && <Empty title="No server was seen within the last minute" />}
      <ul class="servers">
        {runners.map((runner) => (
          <Server
            key={`${runner.url} ${runner.pid}`}
            of={runner}
            most={most}
            moved={moved}
            isCurrent={!isOld.value}
          />
        ))}
      </ul>
      {waiting.map(({ directory, host, rootID, title }) => (
        <p key={rootID}>
          <a href={pathOf(rootID)}>{visibleLine(title)}</a> waits for a server on the host{" "}
          {visibleLine(host)}: its directory is {visibleLine(directory)} there.
        </p>
      ))}
      {takeovers.length > 0 && <Takeovers all={takeovers} />}
    </div>
  )
}
