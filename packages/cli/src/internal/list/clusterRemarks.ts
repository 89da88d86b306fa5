/** Says of a cluster what the table of `skein cluster status` cannot show. */
import type { Cluster } from "@skein/api/Output"
import { escapeLine } from "@skein/tui/Escape"

type Runner = Cluster["runners"][number]

/** What happens to the trees of one that is not alive. */
const afterwards = (runners: ReadonlyArray<Runner>, { trees }: Runner): string => {
  if (!runners.some((each) => each.state === "alive")) {
    return "No other server is running: unfinished work waits until one starts."
  }
  return trees > 0 ? "The other servers take up its trees." : "It holds no trees any more."
}

/** What is wrong with those that are not alive. */
const failed = (runners: ReadonlyArray<Runner>): ReadonlyArray<string> =>
  runners.flatMap((runner) => {
    const { host, pid, silence, state, url } = runner
    if (state === "alive") return []
    const what = state === "dead"
      ? `is dead: its process ${pid} on the host ${escapeLine(host)} has ended`
      : `is silent: it was last seen ${Math.round(silence / 1_000)} s ago`
    return [`${url} ${what}. ${afterwards(runners, runner)}`]
  })

const inSeconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`

/** Of sorted numbers, the one in the middle, or the mean of the two there. */
const median = (sorted: ReadonlyArray<number>): number => {
  const [below = 0, above = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return (below + above) / 2
}

/** How long trees were without a server, separately for failures and for what was planned. */
const durations = (takeovers: Cluster["takeovers"]): ReadonlyArray<string> => {
  const about = (planned: boolean, one: string, several: string) => {
    const times = takeovers.flatMap(({ took, why }) => (why !== "died") === planned ? [took] : [])
      .toSorted((a, b) => a - b)
    if (times.length === 0) return []
    return [
      `The last ${times.length === 1 ? one : `${times.length} ${several}`} took ${
        inSeconds(median(times))
      } (median), and at most ${inSeconds(times.at(-1) ?? 0)}.`
    ]
  }
  return [
    ...about(false, "takeover after a failure", "takeovers after failures"),
    ...about(true, "planned move", "planned moves")
  ]
}

/** What the table cannot show, on standard error. */
export const remarks = (cluster: Cluster): ReadonlyArray<string> => {
  const asking = cluster.runners.reduce((sum, { load }) => sum + load.asking, 0)
  return [
    ...faults(cluster),
    ...(asking === 0 ? [] : [
      `${
        asking === 1 ? "One question waits" : `${asking} questions wait`
      } for a person. \`skein sessions list --all\` says in which trees.`
    ]),
    ...durations(cluster.takeovers)
  ]
}

/** What is wrong in a cluster: servers that are not alive, and trees that nobody continues. */
export const faults = ({ failing, runners, waiting }: Cluster): ReadonlyArray<string> => [
  ...failed(runners),
  ...waiting.map(({ directory, host, rootID }) =>
    `${rootID} waits for a server on the host ${escapeLine(host)}: its directory is ${escapeLine(directory)} there.`
  ),
  ...failing.map(({ cause, failures, next, rootID }) =>
    `${rootID} cannot be continued: ${escapeLine(cause).replace(/\.$/, "")}. ${
      failures === 1 ? "One try" : `${failures} tries`
    } failed; the next is in ${Math.ceil(next / 1_000)} s. To end it, delete it: skein sessions delete ${rootID}`
  )
]
