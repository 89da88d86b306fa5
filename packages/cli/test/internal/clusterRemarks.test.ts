import type { Cluster } from "@skein/api/Output"
import { expect, it } from "vitest"
import { remarks } from "../../src/commands/cluster.ts"

const taken = (why: "died" | "left" | "moved", took: number) => ({
  rootID: "ses_1",
  why,
  to: "http://h:1",
  ago: 1,
  took
})

const cluster = (of: Partial<Cluster>): Cluster => ({ runners: [], waiting: [], failing: [], takeovers: [], ...of })

it("takeovers after failures and planned moves have medians of their own, which lie between two in the middle", () => {
  expect(
    remarks(cluster({ takeovers: [taken("died", 3_600), taken("left", 100), taken("moved", 300), taken("died", 900)] }))
  ).toEqual([
    "The last 2 takeovers after failures took 2.3 s (median), and at most 3.6 s.",
    "The last 2 planned moves took 0.2 s (median), and at most 0.3 s."
  ])
  expect(remarks(cluster({ takeovers: [1_000, 5_000, 2_000].map((took) => taken("died", took)) }))).toEqual([
    "The last 3 takeovers after failures took 2.0 s (median), and at most 5.0 s."
  ])
})

const runner = (state: "alive" | "silent" | "dead", n: number, asking = 0): Cluster["runners"][number] => ({
  url: `http://h:${n}`,
  host: "h",
  port: n,
  pid: n,
  state,
  trees: n,
  held: [],
  load: { running: 0, queued: 0, sent: 0, waiting: 0, lost: 0, takeovers: 0, asking, moves: 0 },
  age: 1_000,
  silence: 7_000
})

it("servers that are not alive are named, and questions to people are counted", () => {
  expect(remarks(cluster({ runners: [runner("alive", 1, 2), runner("silent", 2), runner("dead", 0)] }))).toEqual([
    "http://h:2 is silent: it was last seen 7 s ago. The other servers take up its trees.",
    "http://h:0 is dead: its process 0 on the host h has ended. It holds no trees any more.",
    "2 questions wait for a person. `skein sessions list --all` says in which trees."
  ])
})
