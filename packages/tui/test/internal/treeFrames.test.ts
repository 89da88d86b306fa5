/** The tree as it looks: frames of the pure renderer at several widths, and what each line must not lose. */
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { none } from "@skein/domain/Usage"
import { AgentTree } from "@skein/view/AgentTree"
import { describe, expect, it } from "vitest"
import { treeLines } from "../../src/internal/tree/treeLines.ts"
import { widthOf } from "../../src/Width.ts"
import { TreeStory } from "../support/treeEvents.ts"

/** A tree with an agent in every state. */
const story = () =>
  new TreeStory("build", "Find every place where a session is stored, and say how")
    .busy("root").step("root", 4_200, "0.0123").call("root", "task", "")
    .delegate("a", "explore", "Survey of the storage package and its migrations")
    .busy("a").step("a", 12_345, "0.5").call("a", "read", "packages/storage/src/internal/sessionWrites.ts")
    .delegate("b", "general", "Look at 世界 and 会话")
    .busy("b").step("b", 640, "0.001").call("b", "bash", "npm test -- --run packages/core/test/Session.test.ts")
    .delegate("b1", "explore", "Read the tests", "b").busy("b1").step("b1", 100_000, "1.25")
    .delegate("c", "explore", "A third one").queued("c", 1)
    .delegate("d", "explore", "A fourth one").queued("d", 2)
    .delegate("e", "explore", "Fails").busy("e").step("e", 950, "0.0009")
    .at(2_000).end("e", { status: "failed", error: { tag: "x", message: "The model has no credit left: pay for it." } })
    .delegate("f", "explore", "Done").busy("f").step("f", 950, "0.0009").at(5_000).end("f", { status: "completed" })
    .tell("b1", "permission.asked", { id: "per_1", permission: "bash" })

const frame = ({ tree }: TreeStory, columns: number, rows = 24, now = 65_000) =>
  treeLines(tree, { columns, rows, now }).map(({ text }) => text)

describe.each([60, 80, 120, 200])("at %i columns", (columns) => {
  it("looks like this", async () => {
    await expect(`${frame(story(), columns).join("\n")}\n`).toMatchFileSnapshot(`../golden/tree-${columns}.txt`)
  })

  it("loses neither what an agent does nor its tokens", () => {
    const lines = frame(story(), columns)
    expect(lines[1]).toContain("read pack")
    expect(lines[1]).toContain("12k")
    expect(lines[2]).toContain("bash npm")
    for (const line of lines) expect(widthOf(line)).toBeLessThan(columns)
  })
})

it("the root shows what its whole tree has used, and each agent what it has used with all below it", () => {
  const lines = frame(story(), 120)
  expect(lines[0]).toContain("119k tokens · $1.77")
  expect(lines[2]).toContain("101k tokens · $1.25")
})

describe("the queue", () => {
  const three = () =>
    new TreeStory("build", "t").busy("root")
      .delegate("a", "explore", "a").queued("a", 3)
      .delegate("b", "explore", "b").queued("b", 4)
      .delegate("c", "explore", "c").queued("c", 5)
  const places = (told: TreeStory) =>
    frame(told, 120).slice(1).map((line) => /place (\d+)/.exec(line)?.[1] ?? "no longer")

  it("has places that move up, whoever leaves it ahead", () => {
    const told = three()
    expect(places(told)).toEqual(["3", "4", "5"])
    told.busy("a")
    expect(places(told)).toEqual(["no longer", "3", "4"])
    told.end("b", { status: "stopped", by: "user" })
    expect(places(told)).toEqual(["no longer", "no longer", "3"])
  })

  it("for requests is another one", () => {
    const told = three().busy("a").queued("a", 1)
    expect(places(told)).toEqual(["1", "3", "4"])
    told.busy("a").busy("b").queued("b", 1)
    expect(places(told)).toEqual(["no longer", "1", "3"])
  })

  it("does not count as work, and is shown apart", () => {
    const told = new TreeStory("build", "t").delegate("a", "explore", "a").queued("a", 1)
    expect(frame(told, 120, 24, 30_000)[1]).toMatch(/queued, place 1 +30 s queued$/)
    told.at(30_000).busy("a").at(32_000).queued("a", 1).at(42_000).busy("a")
    expect(frame(told, 120, 24, 45_000)[1]).toMatch(/thinks +40 s queued · 5\.0 s$/)
    told.at(46_000).end("a", { status: "completed" })
    expect(frame(told, 120, 24, 99_000)[1]).toMatch(/a +40 s queued · 6\.0 s$/)
  })
})

it.each([
  [{ status: "failed", error: { tag: "t", message: "No credit\u001b[2J." } }, "failed: No credit\\x1b[2J."],
  [{ status: "stopped", by: "user" }, "stopped: The task was stopped by user."],
  [{ status: "timed_out", which: "timeout", after: 5 }, "timed out: The task ran longer than"],
  [{ status: "budget_exhausted", which: "tokens" }, "budget exhausted: The task used up its budget of tokens."],
  [{ status: "denied", permission: "bash" }, "denied: The user rejected"]
])("a task that ended as %j says why", (outcome, text) => {
  const told = new TreeStory("build", "t").delegate("a", "explore", "a").busy("a").end("a", outcome)
  expect(frame(told, 200)[1]).toContain(text)
})

describe.each([100, 1_000])("%i agents", (count) => {
  const many = () => {
    const told = new TreeStory("build", "t").busy("root")
    for (let i = 0; i < count; i++) {
      told.delegate(`a${i}`, "explore", `Task ${i}`)
      // Those at work are the last: they must not be cut off for having begun late.
      if (i < 10) told.busy(`a${i}`).end(`a${i}`, { status: i < 7 ? "completed" : "lost" })
      else if (i < count - 5) told.queued(`a${i}`, i - 9)
      else told.busy(`a${i}`)
    }
    return told.tell("a50", "permission.asked", { id: "per_1", permission: "edit" })
  }

  it("show those at work first, then the head of the queue, and count the rest by state", () => {
    const lines = frame(many(), 80, 12)
    expect(lines).toHaveLength(12)
    expect(lines.filter((line) => line.includes("thinks"))).toHaveLength(6)
    expect(lines.filter((line) => line.includes("asks: edit"))).toHaveLength(1)
    expect(lines.flatMap((line) => /place (\d+)/.exec(line)?.[1] ?? [])).toEqual(["1", "2", "3", "4"])
    expect(lines.at(-1)).toBe(`… and ${count - 10} more: ${count - 20} queued, 3 failed, 7 done`)
  })

  it("take never more lines than there are", () => {
    for (const rows of [1, 2, 3, 50, count, count + 1, count + 2]) {
      const lines = frame(many(), 60, rows)
      expect(lines.length).toBeLessThanOrEqual(rows)
      expect(lines[0]).toContain("build")
    }
    expect(frame(many(), 60, count + 1)).toHaveLength(count + 1)
  })
})

describe("of earlier turns", () => {
  const info = (more: Readonly<Record<string, unknown>>) => ({
    agent: "build",
    title: "t",
    usage: { own: none, subtree: none },
    time: { created: 0, updated: 0 },
    ...more
  })
  const root = info({ id: "ses_root", rootID: "ses_root", turn: { began: 5_000 } })

  it("only what still runs gets a line: the others are counted", () => {
    const told = new TreeStory("build", "t").busy("root")
      .delegate("a", "explore", "First").busy("a")
      .delegate("b", "explore", "Second").busy("b")
      .delegate("c", "general", "Goes on").busy("c").delegate("d", "explore", "Below it", "c").busy("d")
      .at(2_000).end("a", { status: "completed" }).end("b", { status: "failed", error: { tag: "x", message: "Why" } })
      .at(5_000).tell("root", "session.updated", { info: root })
      .delegate("e", "explore", "New").busy("e").at(6_000).end("e", { status: "completed" })
    const lines = frame(told, 80)
    expect(lines.map((line) => /First|Second|Goes on|Below it|New|more.*/.exec(line)?.[0])).toEqual([
      undefined,
      "Goes on",
      "Below it",
      "New",
      "more: 1 failed, 1 done"
    ])
  })

  it("the same is seen by who joins later", () => {
    const run = (taskID: string, settled?: number) => ({
      id: `run_${taskID}`,
      taskID,
      description: taskID,
      background: false,
      state: settled === undefined ? "running" : "settled",
      time: { created: 0, started: 0, ...(settled === undefined ? {} : { settled }) },
      ...(settled === undefined ? {} : { outcome: { status: "completed" } })
    })
    const child = (id: string) => info({ id, parentID: "ses_root", rootID: "ses_root", status: { type: "idle" } })
    const tree = AgentTree.of(
      {
        rootID: "ses_root",
        seq: 9,
        sessions: [{ ...root, status: { type: "busy", step: 1 } }, child("ses_old"), child("ses_new")],
        tasks: [run("ses_old", 4_000), run("ses_new", 6_000)],
        asks: [],
        waiting: []
      } as unknown as TreeSnapshot
    )
    if (tree === undefined) throw new Error("The snapshot is empty")
    const lines = treeLines(tree, { columns: 80, rows: 24, now: 7_000 }).map(({ text }) => text)
    expect(lines.join("\n")).not.toContain("ses_old")
    expect(lines[1]).toContain("ses_new")
    expect(lines[2]).toBe("… and 1 more: 1 done")
  })
})

it.each([60, 80])("tells those that wait for an answer apart at %i columns", (columns) => {
  const told = new TreeStory("build", "t").busy("root")
  for (const part of ["a", "b"]) {
    told.delegate(part, "general", `Build part ${part} of it all`).busy(part).step(part, 2_300, "0.0047")
      .tell(part, "permission.asked", { id: `per_${part}`, permission: "bash" })
  }
  const [, first = "", second = ""] = frame(told.at(6_800), columns, 24, 6_800)
  expect(first).toMatch(/^├─ ○ general {2}Build part a of it.* {2}asks: bash .*6\.8 s$/)
  expect(second).toMatch(/^└─ ○ general {2}Build part b of it.* {2}asks: bash .*6\.8 s$/)
})
