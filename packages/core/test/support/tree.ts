/** What the tests of core share: sessions, what became of their calls, and what must hold when nothing runs any more. */
import { Governor } from "@skein/core/Governor"
import { Session, type SessionOptions } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts, ToolPart, ToolState } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Scripted } from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import { expect } from "vitest"

/** A root session that has a title already, so that no request for one comes between. */
export const root = (options: Partial<SessionOptions> = {}) =>
  Session.create({ directory: "/work", agent: "build", title: "Test", ...options })

/** Everything that was said in a session. */
export const messages = (id: SessionID) => Effect.flatMap(Session, (session) => session.messages(id))

/** The sessions directly below one. */
export const children = (id: SessionID) =>
  Effect.map(Effect.flatMap(Session, (session) => session.children(id)), (found) => found.toSorted((a, b) => a.id < b.id ? -1 : 1))

/** All calls of some messages. */
export const callsOf = (all: ReadonlyArray<MessageWithParts>): ReadonlyArray<ToolPart> =>
  all.flatMap((message) => message.parts.filter((part) => part.type === "tool"))

/** All calls of a session. */
export const calls = (id: SessionID) => Effect.map(messages(id), callsOf)

/** What the model is told of a call. */
export const said = ({ state }: { readonly state: ToolState }): string =>
  state.status === "completed" ? state.output : state.status === "error" ? state.error.message : `(${state.status})`

/** The results of all calls of a session, in order. */
export const results = (id: SessionID) => Effect.map(calls(id), (found) => found.map(said))

/** A session and everything below it. */
export const tree = (rootID: SessionID): Effect.Effect<ReadonlyArray<SessionInfo>, unknown, SessionStorage> =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.sessions({ rootID })), (found) => found.rows)

/** What must hold of a tree in which nothing runs any more. */
export const expectStill = Effect.fnUntraced(function*(rootID: SessionID, script: Scripted) {
  const session = yield* Session
  const storage = yield* SessionStorage
  expect(script.open.now, "open model requests").toBe(0)
  expect(yield* Effect.flatMap(Governor, (governor) => governor.load)).toEqual({ held: 0, waiting: 0 })
  const runs = (yield* storage.runs({ rootID })).rows
  for (const run of runs) expect(run, "every run is settled").toMatchObject({ state: "settled", outcome: { runID: run.id } })
  for (const info of yield* tree(rootID)) {
    expect(yield* session.status(info.id), `status of ${info.title}`).toEqual({ type: "idle" })
    const stored = (yield* storage.messages(info.id)).rows
    for (const { info: message, parts } of stored) {
      if (message.role === "assistant") expect(message.time.completed, `${info.title}: message completed`).toBeDefined()
      for (const part of parts) {
        if (part.type === "tool") expect(["completed", "error"], `${info.title}: ${part.tool}`).toContain(part.state.status)
      }
    }
    expect(yield* session.messages(info.id), `${info.title}: in memory as stored`).toEqual(stored)
  }
})
