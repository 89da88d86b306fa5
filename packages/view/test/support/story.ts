/** Makes the events of a tree as the runtime publishes them, and the snapshot that the server gives after any of them. */
import type { Event, EventType } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { PendingAsk, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { add, none, type Usage } from "@skein/domain/Usage"

type Snapshot = TreeSnapshot

/** The id of a session with this name. */
export const idOf = (name: string) => `ses_${name}` as SessionID

/** What is stored after an event. */
interface Stored {
  readonly sessions: ReadonlyMap<string, SessionInfo>
  readonly statuses: ReadonlyMap<string, SessionStatus>
  readonly runs: ReadonlyMap<string, TaskRun>
  readonly asks: ReadonlyMap<string, PendingAsk>
}

const newSession = (name: string, parent: SessionInfo | undefined, now: number): SessionInfo => ({
  id: idOf(name),
  ...(parent === undefined ? {} : { parentID: parent.id }),
  rootID: idOf("root"),
  depth: parent === undefined ? 0 : parent.depth + 1,
  projectID: "/work",
  directory: "/work",
  title: `Session ${name}`,
  agent: parent === undefined ? "build" : "explore",
  permission: [],
  usage: { own: none, subtree: none },
  version: 1,
  time: { created: now, updated: now }
})

/** A tree as its events tell it, one millisecond after the other. */
export class Story {
  readonly events: Array<Event> = []
  readonly #states: Array<Stored> = []
  readonly #sessions = new Map<string, SessionInfo>()
  readonly #statuses = new Map<string, SessionStatus>()
  readonly #runs = new Map<string, TaskRun>()
  readonly #asks = new Map<string, PendingAsk>()
  #now = 1_000

  constructor() {
    const turn = { began: this.#now }
    this.#sessions.set("root", { ...newSession("root", undefined, this.#now), turn })
    this.#statuses.set("root", { type: "busy", step: 1 })
    this.#keep()
  }

  /** The names of the sessions that are there. */
  get names(): ReadonlyArray<string> {
    return [...this.#sessions.keys()]
  }

  /** Whether a session's run, or the root, is under way. */
  works(name: string): boolean {
    return name === "root" || this.#runs.get(name)?.state === "running"
  }

  /** The session as it is stored at the beginning. */
  get first(): SessionInfo {
    const root = this.#states[0]?.sessions.get("root")
    if (root === undefined) throw new Error("There is no root")
    return root
  }

  /** The snapshot after the first so many events. */
  snapshot(seq: number): Snapshot {
    const state = this.#states[seq]
    if (state === undefined) throw new Error(`There is no event ${seq}`)
    const idle: SessionStatus = { type: "idle" }
    return {
      rootID: idOf("root"),
      seq,
      sessions: [...state.sessions].map(([name, info]) => ({ ...info, status: state.statuses.get(name) ?? idle })),
      tasks: [...state.runs.values()],
      asks: [...state.asks.values()],
      waiting: []
    }
  }

  delegate(name: string, parent: string): void {
    const above = this.#sessions.get(parent)
    if (above === undefined) return
    const known = this.#sessions.get(name)
    const info = known ?? newSession(name, above, this.#now)
    this.#sessions.set(name, info)
    if (known === undefined) this.#tell(name, "session.created", { info })
    const run = { id: `run_${this.events.length}`, taskID: info.id, parentID: above.id, rootID: idOf("root") }
    const time = { created: this.#now, started: this.#now }
    const text = { agent: info.agent, description: `Task ${name}`, prompt: "p", background: false }
    this.#runs.set(name, { ...run, ...text, state: "running", time } as TaskRun)
    this.#tell(name, "subagent.created", {
      task_id: info.id,
      run_id: run.id,
      trigger_session_id: above.id,
      agent: info.agent,
      description: text.description
    })
    this.status(name, { type: "busy", step: 1 })
  }

  status(name: string, status: SessionStatus): void {
    this.#statuses.set(name, status)
    this.#tell(name, "session.status", { status })
  }

  promote(name: string): void {
    const run = this.#runs.get(name)
    if (run === undefined) return
    this.#runs.set(name, { ...run, background: true })
    this.#tell(name, "background_task.started", { task_id: run.taskID })
  }

  step(name: string, tokens: number): void {
    const used: Usage = { ...none, steps: 1, cost: "0.01", tokens: { ...none.tokens, input: tokens, output: 1 } }
    let info = this.#sessions.get(name)
    while (info !== undefined) {
      const each = info.id.slice("ses_".length)
      const { own, subtree } = info.usage
      const next = { ...info, usage: { own: each === name ? add(own, used) : own, subtree: add(subtree, used) } }
      this.#sessions.set(each, next)
      this.#tell(each, "session.updated", { info: next })
      info = info.parentID === undefined ? undefined : this.#sessions.get(info.parentID.slice("ses_".length))
    }
  }

  ask(name: string, id: string): void {
    const request = {
      id,
      sessionID: idOf(name),
      rootID: idOf("root"),
      path: ["build", name],
      permission: "bash",
      patterns: ["ls"],
      always: [],
      metadata: {}
    }
    this.#asks.set(id, { type: "permission", ...request } as unknown as PendingAsk)
    this.#tell(name, "permission.asked", request)
  }

  reply(name: string, id: string): void {
    this.#asks.delete(id)
    this.#tell(name, "permission.replied", { id, reply: "once" })
  }

  settle(name: string, status: "completed" | "lost"): void {
    const run = this.#runs.get(name)
    if (run === undefined) return
    const outcome = { taskID: run.taskID, runID: run.id, text: "", usage: none, durationMs: 1, status } as Outcome
    this.status(name, { type: "idle" })
    this.#runs.set(name, { ...run, state: "settled", outcome, time: { ...run.time, settled: this.#now } })
    for (const [id, ask] of this.#asks) if (ask.sessionID === run.taskID) this.#asks.delete(id)
    this.#tell(name, status === "completed" ? "subagent.completed" : "subagent.failed", {
      task_id: run.taskID,
      outcome
    })
  }

  /** The turn of the root ends. */
  rest(): void {
    const info = this.#sessions.get("root")
    if (info === undefined) return
    const turn = { began: info.turn?.began ?? 0, ended: { at: this.#now, how: "completed" as const } }
    this.#sessions.set("root", { ...info, turn })
    this.#tell("root", "session.updated", { info: { ...info, turn } })
    this.#now = turn.ended.at
    this.status("root", { type: "idle" })
  }

  /** An event of a session, with what the view looks at. */
  tell(name: string, type: EventType, properties: object): void {
    this.#tell(name, type, properties)
  }

  #tell(name: string, type: EventType, properties: object): void {
    const seq = this.events.length + 1
    const event = { id: `evt_${seq}`, seq, type, sessionID: idOf(name), rootID: idOf("root"), depth: 0, properties }
    this.events.push({ ...event, timestamp: this.#now } as unknown as Event)
    this.#now++
    this.#keep()
  }

  #keep(): void {
    this.#states.push({
      sessions: new Map(this.#sessions),
      statuses: new Map(this.#statuses),
      runs: new Map(this.#runs),
      asks: new Map(this.#asks)
    })
  }
}
