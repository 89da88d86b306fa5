/** Owns a root session of a client: the tasks that are delegated in one directory are its children. */
import { Agent } from "@skein/core/Agent"
import { Answerer } from "@skein/core/Answerer"
import { Bus } from "@skein/core/Bus"
import { modelFor } from "@skein/core/ModelChoice"
import { Permission } from "@skein/core/Permission"
import { Projects } from "@skein/core/Projects"
import { Session } from "@skein/core/Session"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { modeOf } from "@skein/domain/Mode"
import { formatRef } from "@skein/domain/Model"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { Place, ServingHost } from "../../ServingHost.ts"
import { cleanLine } from "../cleanText.ts"
import type { Ask, Delegation } from "./Delegation.ts"
import { Refused, refusedBy } from "./Refused.ts"

/** A root. */
export interface Root {
  readonly info: SessionInfo
  /** Passes the questions of a task and of everything below it to its run. */
  readonly connect: (delegation: Delegation) => void
}

/** What a root is made for. */
export interface RootOptions {
  readonly place: Place
  /** The name that the client gives itself. */
  readonly client: string
  /** Whether the client can ask a person. */
  readonly canAsk: boolean
}

/** Which run gets which question, by what happens in the tree. */
const makeRouting = (rootID: SessionID) => {
  const parents = new Map<SessionID, SessionID>()
  const runs = new Map<SessionID, Delegation>()
  /** A task may ask before its run is known here. */
  const early: Array<readonly [SessionID, Ask]> = []
  const taskOf = (id: SessionID): SessionID => {
    const parent = parents.get(id)
    return parent === undefined || parent === rootID ? id : taskOf(parent)
  }
  const pass = (ask: Ask): void => {
    const task = taskOf(ask.sessionID)
    const run = runs.get(task)
    if (run === undefined) early.push([task, ask])
    else run.addAsk(ask)
  }
  const connect = (run: Delegation): void => {
    runs.set(run.taskID, run)
    for (const [task, ask] of early.splice(0)) {
      if (task === run.taskID) run.addAsk(ask)
      else early.push([task, ask])
    }
  }
  const onEvent = (event: Event): void => {
    switch (event.type) {
      case "session.created": {
        const { id, parentID } = event.properties.info
        if (parentID !== undefined) parents.set(id, parentID)
        return
      }
      case "permission.asked":
        return pass({ type: "permission", ...event.properties })
      case "question.asked":
        return pass({ type: "question", ...event.properties })
      case "permission.replied":
      case "question.replied":
        return runs.get(taskOf(event.sessionID))?.removeAsk(event.properties.id)
    }
  }
  return { onEvent, connect }
}

/** Makes one, which follows its tree until the scope closes. */
export const makeRoot = Effect.fnUntraced(function*({ canAsk, client, place }: RootOptions) {
  const sessions = yield* Session
  const bus = yield* Bus
  const title = `Tasks of ${cleanLine(client, 60) || "an MCP client"}`
  const info = yield* Effect.mapError(sessions.create({ ...place, title }), refusedBy)
  yield* Answerer.set(info.id, canAsk ? "person" : "nobody")
  const { connect, onEvent } = makeRouting(info.id)
  yield* bus.listen({ rootID: info.id, deltas: false }, onEvent)
  return { info, connect } satisfies Root
})

/** Fails if the rules deny such tasks. The client's user has asked for the task, so that nobody else is asked. */
export const checkAllowed = Effect.fnUntraced(function*({ info }: Root, agent: string) {
  const permission = yield* Permission
  const subject = yield* Effect.mapError(
    Projects.use(
      info.directory,
      Effect.flatMap(Agent, (agents) =>
        Effect.map(agents.get(info.agent), (own) => ({
          session: info,
          path: [info.agent],
          mode: modeOf(info),
          rules: agents.rules(own),
          ceilings: [agents.ceiling(own)]
        })))
    ),
    refusedBy
  )
  const ask = { permission: "task", patterns: [agent], always: [agent], metadata: {} }
  const action = yield* Effect.mapError(
    permission.decide(subject, { name: "task", permission: "task" }, ask),
    refusedBy
  )
  if (action === "deny") {
    return yield* new Refused({ message: `The rules of this project deny tasks for the agent ${agent}.` })
  }
})

/** Fails if a model would answer that is only there because none is set up: what it says is not what was asked for. */
export const checkModel = Effect.fnUntraced(
  function*({ info }: Root, agent: string, fallback: ServingHost["fallback"]) {
    if (fallback === undefined) return
    const { isUsual, model } = yield* Projects.use(info.directory, modelFor(undefined, agent)).pipe(
      // Why it cannot be used, the start of the task says.
      Effect.orElseSucceed(() => ({ model: undefined, isUsual: false }))
    )
    const isFallback = isUsual && model !== undefined && formatRef(model) === formatRef(fallback.model)
    if (isFallback) return yield* new Refused({ message: fallback.message })
  }
)
