/** Proves that a snapshot with the events after it shows what all events show. */
import type { Event } from "@skein/domain/Event"
import { activityOf, phaseOf, timesOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import { AgentTree } from "@skein/view/AgentTree"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { idOf, Story } from "./support/story.ts"

/** What is shown of an agent, without how it is known. */
const shown = ({ children, info, lastCall, model, ...node }: AgentNode): unknown => ({
  ...node,
  calls: [...node.calls],
  asks: [...node.asks],
  version: info?.version,
  lastCall,
  model,
  children: children.map(shown)
})

const fold = (tree: AgentTree, story: Story, from: number): AgentTree => {
  for (const event of story.events.slice(from)) tree.see(event)
  return tree
}

const restored = (story: Story, seq: number): AgentTree => {
  const tree = AgentTree.of(story.snapshot(seq))
  if (tree === undefined) throw new Error("The snapshot is empty")
  return tree
}

const actions = ["delegate", "step", "ask", "reply", "settle", "lose", "promote", "wait", "work", "retry"] as const
const action = FastCheck.record({
  what: FastCheck.constantFrom(...actions),
  name: FastCheck.nat({ max: 5 }),
  other: FastCheck.nat({ max: 5 })
})

/** Tells a story of what is possible among these actions. */
const tell = (chosen: ReadonlyArray<{ what: typeof actions[number]; name: number; other: number }>): Story => {
  const story = new Story()
  const open = new Map<string, string>()
  for (const [at, { name: number, other, what }] of chosen.entries()) {
    const name = number === 0 ? "root" : `a${number}`
    const parent = other === 0 ? "root" : `a${other}`
    if (what === "delegate") {
      const isAbove = parent === "root" || (story.works(parent) && other < number)
      const isNew = !story.names.includes(name)
      if (name !== "root" && isAbove && isNew) story.delegate(name, parent)
      continue
    }
    if (!story.works(name)) continue
    if (what === "step") story.step(name, at + 1)
    else if (what === "wait") story.status(name, { type: "queued", position: other + 1 })
    else if (what === "work") story.status(name, { type: "busy", step: at })
    else if (what === "retry") story.status(name, { type: "retry", attempt: 1, message: "later", next: 9_999 })
    else if (what === "ask" && !open.has(name)) {
      open.set(name, `per_${at}`)
      story.ask(name, `per_${at}`)
    } else if (what === "reply" && open.has(name)) {
      story.reply(name, open.get(name) ?? "")
      open.delete(name)
    } else if (name !== "root" && what === "promote") story.promote(name)
    else if (name !== "root" && (what === "settle" || what === "lose")) {
      open.delete(name)
      story.settle(name, what === "settle" ? "completed" : "lost")
    }
  }
  return story
}

/** How long somebody queued is told by events that are not kept: a snapshot knows it from the run. */
const withoutQueue = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, each: unknown) => /^(queued|queuedSince|hasWorked)$/.test(key) ? 0 : each))

describe("a tree", () => {
  it("is the same from a snapshot at any place with the events after it as from all events", () => {
    FastCheck.assert(FastCheck.property(FastCheck.array(action, { maxLength: 40 }), (chosen) => {
      const story = tell(chosen)
      const whole = shown(fold(restored(story, 0), story, 0).root)
      for (let seq = 0; seq <= story.events.length; seq++) {
        const tree = fold(restored(story, seq), story, seq)
        expect(withoutQueue(shown(tree.root))).toEqual(withoutQueue(whole))
      }
    }))
  })

  it("is not harmed by events that its snapshot already shows", () => {
    FastCheck.assert(FastCheck.property(FastCheck.array(action, { maxLength: 30 }), (chosen) => {
      const story = tell(chosen)
      const whole = shown(fold(restored(story, 0), story, 0).root)
      const late = story.snapshot(story.events.length)
      for (let seq = 0; seq <= story.events.length; seq += 3) {
        const tree = AgentTree.of({ ...late, seq })
        if (tree === undefined) throw new Error("The snapshot is empty")
        expect(withoutQueue(shown(fold(tree, story, seq).root))).toEqual(withoutQueue(whole))
      }
    }))
  })

  it("counts usage from when it is watched, and all of it where a snapshot shows it", () => {
    const story = new Story()
    story.step("root", 99)
    story.delegate("a", "root")
    story.step("a", 9)
    const watched = new AgentTree(story.snapshot(1).sessions[0] ?? story.first, 0)
    for (const event of story.events.slice(1)) watched.see(event)
    expect([watched.root.own.tokens.input, watched.root.usage.tokens.input]).toEqual([0, 9])
    expect(watched.root.usage.cost).toBe("0.01")
    const all = restored(story, 3)
    expect(fold(all, story, 3).root.usage).toMatchObject({ cost: "0.02", steps: 2, tokens: { input: 108, output: 2 } })
    expect(all.node(idOf("a"))?.own.tokens.input).toBe(9)
  })
})

describe("an agent", () => {
  const of = (story: Story, name = "root") => {
    const node = restored(story, story.events.length).node(idOf(name))
    if (node === undefined) throw new Error(`There is no ${name}`)
    return [phaseOf(node), activityOf(node, { now: 2_000, place: 3 })]
  }

  it("says what it does or why it waits", () => {
    const story = new Story()
    expect(of(story)).toEqual(["working", "thinks"])
    story.delegate("a", "root")
    story.status("a", { type: "queued", position: 3 })
    expect(of(story, "a")).toEqual(["waiting", "queued, place 3"])
    story.status("a", { type: "retry", attempt: 2, message: "429", next: 7_000 })
    expect(of(story, "a")).toEqual(["retrying", "retry 2 in 5.0 s: 429"])
    story.status("a", { type: "waiting", which: "usd", message: "m" })
    expect(of(story, "a")).toEqual(["waiting", "waits for budget"])
    story.ask("a", "per_1")
    expect(of(story, "a")).toEqual(["asking", "asks: bash"])
    story.rest()
    expect(of(story)).toEqual(["waiting", "waits for its tasks"])
    story.settle("a", "lost")
    expect(of(story, "a")).toEqual(["failed", "lost: its process ended"])
    expect(of(story)).toEqual(["done", ""])
  })

  it("shows its calls while they run, and the last one after", () => {
    const story = new Story()
    const tree = restored(story, 0)
    const call = (status: string) => ({
      part: { id: "prt_1", type: "tool", tool: "read", state: { status, title: "a.ts" } }
    })
    story.tell("root", "message.part.updated", call("running"))
    tree.see(story.events[0]!)
    expect(activityOf(tree.root, { now: 0 })).toBe("read a.ts")
    story.tell("root", "message.part.updated", call("completed"))
    tree.see(story.events[1]!)
    expect(activityOf(tree.root, { now: 0 })).toBe("thinks")
    expect(tree.root.lastCall).toEqual({ tool: "read", title: "a.ts" })
  })

  it("is interrupted where its turn has no end and nothing works on it", () => {
    const story = new Story()
    const snapshot = story.snapshot(0)
    const sessions = snapshot.sessions.map((each) => ({ ...each, status: { type: "idle" as const } }))
    const tree = AgentTree.of({ ...snapshot, sessions })
    expect(tree && phaseOf(tree.root)).toBe("interrupted")
    story.status("root", { type: "busy", step: 1 })
    expect(tree && [tree.see(story.events[0]!), phaseOf(tree.root)]).toEqual([true, "working"])
  })

  it.each([
    [
      { type: "away", host: "alpha", directory: "/work" } as const,
      "waiting",
      "waits for a server on the host alpha: its directory is /work there"
    ],
    [
      { type: "stuck", cause: "msg_1 cannot be read" } as const,
      "failed",
      "cannot be continued: msg_1 cannot be read. Servers try again from time to time"
    ]
  ])("is %j until its status changes or another event comes, and was not ended by that", (away, phase, text) => {
    const story = new Story()
    story.status("root", away)
    story.status("root", { type: "idle" })
    story.status("root", away)
    story.tell("root", "todo.updated", { todos: [] })
    const [waits, rests, waitsAgain, other] = story.events
    const snapshot = story.snapshot(0)
    const tree = AgentTree.of({ ...snapshot, sessions: snapshot.sessions.map((each) => ({ ...each, status: away })) })
    if (tree === undefined) throw new Error("The snapshot is empty")
    const now = () => [phaseOf(tree.root), activityOf(tree.root, { now: 0 })]
    expect(now()).toEqual([phase, text])
    tree.see(rests!)
    expect(now()).toEqual(["interrupted", "interrupted"])
    tree.see(waits!)
    expect(now()).toEqual([phase, text])
    tree.see(other!)
    expect(now()).toEqual(["interrupted", "interrupted"])
    tree.see(waitsAgain!)
    expect(now()).toEqual([phase, text])
    expect(tree.root.ended).toBe(undefined)
  })

  it("counts the present turn of a root, and nothing of the time between two turns", () => {
    const story = new Story()
    const tree = new AgentTree(story.first, 500)
    const tell = (turn: object, at: number) =>
      tree.see({
        type: "session.updated",
        sessionID: story.first.id,
        timestamp: at,
        properties: { info: { ...story.first, turn } }
      } as unknown as Event)
    tell({ began: 1_000 }, 1_000)
    tell({ began: 1_000, ended: { at: 1_200, how: "completed" } }, 1_200)
    tell({ began: 90_000 }, 90_000)
    expect(timesOf(tree.root, 90_100).worked).toBe(100)
    // A turn that an earlier process began: what was before this one is not known.
    tell({ began: 100 }, 90_000)
    expect(timesOf(tree.root, 90_100).worked).toBe(89_600)
  })

  it("does not count its time in queues as work", () => {
    const times = { began: 1_000, ended: undefined, queued: 500, queuedSince: 4_000 }
    expect(timesOf(times, 6_000)).toEqual({ waited: 2_500, worked: 2_500 })
  })
})
