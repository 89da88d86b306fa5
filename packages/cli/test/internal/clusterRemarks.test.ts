import type { Cluster } from "@skein/api/Output"
import { expect, it } from "vitest"
import { remarks } from "../../src/internal/list/clusterRemarks.ts"

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
