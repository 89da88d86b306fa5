/** Shared parts of the core tests: sessions, the results of their calls, and invariants of an idle tree. */
import { Governor } from "@skein/core/Governor"
import { Session, type SessionOptions } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Accepted } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import type { MessageWithParts, ToolPart, ToolState } from "@skein/domain/Part"
import type { Scripted } from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import { expect } from "vitest"

/** A root session with a title, so that no request for one interferes. */
export const root = (options: Partial<SessionOptions> = {}) =>
  Session.create({ directory: "/work", agent: "build", title: "Test", ...options })

/** All messages of a session. */
export const messagesOf = (id: SessionID) => Effect.flatMap(Session, (session) => session.messages(id))

/** The sessions directly below one. */
export const childrenOf = (id: SessionID) =>
  Effect.map(
    Effect.flatMap(Session, (session) => session.children(id)),
    (found) => found.toSorted((a, b) => a.id < b.id ? -1 : 1)
  )

/** All calls of some messages. */
export const callsOf = (all: ReadonlyArray<MessageWithParts>): ReadonlyArray<ToolPart> =>
  all.flatMap((message) => message.parts.filter((part) => part.type === "tool"))

/** All calls of a session. */
export const callsMade = (id: SessionID) => Effect.map(messagesOf(id), callsOf)

/** The result of a call that the model reads. */
export const resultOf = ({ state }: { readonly state: ToolState }): string =>
  state.status === "completed" ? state.output : state.status === "error" ? state.error.message : `(${state.status})`

/** A session and everything below it. */
export const treeOf = (rootID: SessionID) =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.sessions({ rootID })), (found) => found.rows)

/** The tools of agents that may start tasks. */
export const taskTools = ["task", "task_message", "task_status", "task_stop", "task_wait"]

/** The outcome of an awaited run. */
export const outcomeOf = (end: Outcome | Accepted): Effect.Effect<Outcome> =>
  end.status === "accepted" ? Effect.dieMessage(`${end.taskID} runs in the background`) : Effect.succeed(end)

/** What is wrong with a tree in which nothing should run. */
const unrest = Effect.fnUntraced(function*(rootID: SessionID, script: Scripted) {
  const session = yield* Session
  const storage = yield* SessionStorage
  const found: Array<string> = []
  const load = yield* Effect.flatMap(Governor, (governor) => governor.load)
  if (script.open.now !== 0) found.push(`${script.open.now} model requests are open`)
  if (load.held !== 0 || load.waiting !== 0) found.push(`slots: ${JSON.stringify(load)}`)
  for (const run of (yield* storage.runs({ rootID })).rows) {
    if (run.state !== "settled" || run.outcome?.runID !== run.id) found.push(`run ${run.description} is ${run.state}`)
  }
  for (const { id, title } of yield* treeOf(rootID)) {
    const status = yield* session.status(id)
    if (status.type !== "idle") found.push(`${title}: status ${status.type}`)
    const stored = (yield* storage.messages(id)).rows
    for (const { info, parts } of stored) {
      if (info.role === "assistant" && info.time.completed === undefined) {
        found.push(`${title}: a message is not completed`)
      }
      for (const part of parts) {
        if (part.type !== "tool" || part.state.status === "completed" || part.state.status === "error") continue
        found.push(`${title}: ${part.tool} is ${part.state.status}`)
      }
    }
    const held = yield* session.messages(id)
    if (JSON.stringify(held) !== JSON.stringify(stored)) found.push(`${title}: memory and storage differ`)
  }
  return found
})

/** Nothing of the tree runs, waits or is left open, and published and stored states agree. */
export const expectStill = (rootID: SessionID, script: Scripted) =>
  Effect.map(unrest(rootID, script), (found) => expect(found).toEqual([]))
