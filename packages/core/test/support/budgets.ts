/** Shared parts of the budget tests: agents with a fixed usage per step, and the results of prompting them. */
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { Budget as Limit } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import type * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { outcomeOf } from "./tree.ts"

/** A step that uses this many tokens, a twentieth of them for output. */
export const uses = (tokens: number) => ({ tokens: { input: tokens * 0.95, output: tokens * 0.05 } })

const look = SkeinTest.tool("look", () => Effect.succeed("seen"))
/** An agent that calls the tool repeatedly, each time with another path. */
export const lookOn = (tokens: number): Scripted.Script => (request) => ({
  text: `look ${request.origin.step}`,
  calls: [{ tool: "look", input: { at: `${request.origin.step} of ${request.origin.sessionID}` } }],
  ...uses(tokens)
})

/** The agent for tasks. */
export const worker = SkeinTest.agent("worker", { description: "Works." })
/** The agent and the tool of these tests. */
export const options = { agents: [worker], tools: [look] }

/** The stored data of a session. */
export const sessionOf = (id: SessionID) => Effect.flatMap(Session, (session) => session.get(id))

/** The error of a prompt. */
export const failing = (id: SessionID, budget?: Limit) =>
  Effect.flip(Session.prompt(id, "Go", budget === undefined ? {} : { budget }))

/** Runs a task of an agent, and returns its outcome. */
export const spawn = (
  parentID: SessionID,
  agent: string,
  more: { readonly budget?: Limit; readonly description?: string; readonly prompt?: string } = {}
) =>
  Effect.flatMap(
    Tasks,
    (tasks) =>
      Effect.flatMap(
        tasks.run({ parentID, agent, description: "part", prompt: "Do it", byUser: false, ...more }),
        outcomeOf
      )
  )
