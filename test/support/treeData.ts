/** Makes the snapshot of a tree that is larger than any that a test could wait for. */
import type { Span } from "@skein/api/Output"
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { none, type Usage } from "@skein/domain/Usage"

/** How long ago the tree began, in milliseconds. */
const age = 60_000

const usage: Usage = { ...none, steps: 50, tokens: { ...none.tokens, input: 90_000, output: 4_000 }, cost: "0.12" }

type Session = TreeSnapshot["sessions"][number]

const childOf = (root: Session, began: number, at: number): Session => ({
  ...root,
  id: `${root.id}c${at}` as SessionID,
  parentID: root.id,
  depth: 1,
  title: `Task ${at}`,
  agent: "general",
  usage: { own: usage, subtree: usage },
  status: { type: "busy", step: 1 },
  time: { created: began + at, updated: began }
})

const runOf = (root: Session, began: number, at: number) => ({
  id: `run_${at}`,
  taskID: `${root.id}c${at}`,
  parentID: root.id,
  rootID: root.id,
  agent: "general",
  description: `Task ${at}`,
  prompt: "p",
  background: false,
  state: "running",
  time: { created: began + at, started: began + at }
} as unknown as TaskRun)

const kinds = ["model", "tool", "tasks", "slot", "retry", "person"] as const

/** A tree of a root and so many agents at work below it, which have so many spans in all. */
export const largeTree = (session: Session, agents: number, spans: number) => {
  const began = session.time.created - age
  const root: Session = { ...session, status: { type: "busy", step: 1 }, time: { created: began, updated: began } }
  const below = Array.from({ length: agents }, (_, at) => at + 1)
  const each = Math.ceil(spans / agents)
  const spansOf = (at: number): ReadonlyArray<Span> =>
    Array.from({ length: each }, (_, index) => {
      const start = began + index * 1_000 + at * 37
      return {
        id: `s${at}-${index}`,
        kind: kinds[(index + at) % kinds.length] ?? "model",
        start,
        end: start + 800,
        label: "x"
      }
    })
  return {
    tree: {
      rootID: root.id,
      seq: 1,
      sessions: [root, ...below.map((at) => childOf(root, began, at))],
      tasks: below.map((at) => runOf(root, began, at)),
      asks: [],
      waiting: []
    },
    timeline: {
      rootID: root.id,
      seq: 1,
      sessions: below.map((at) => ({ sessionID: `${root.id}c${at}`, calls: [], spans: spansOf(at) }))
    }
  }
}
