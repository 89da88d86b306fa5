/** Agents whose calls need permission, and the results of the questions. */
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { define } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import { call, make, type Script } from "@skein/testing/ScriptedProvider"
import { agent, layer, type SkeinTestOptions } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { callsMade, resultOf } from "./tree.ts"

/** A tool with the permission `edit`, which asks for the given path. */
export const touch = define({
  name: "touch",
  permission: "edit",
  describe: "Touches a file.",
  parameters: Schema.Struct({ path: Schema.String, guarded: Schema.optional(Schema.Boolean) }),
  effect: "safe",
  title: ({ path }) => path,
  authorise: ({ guarded, path }) =>
    Effect.succeed([{
      permission: "edit",
      patterns: [path],
      always: [`${path.split("/")[0]}/*`],
      metadata: { path },
      protected: guarded === true
    }]),
  execute: ({ path }) => Effect.succeed({ title: path, output: `touched ${path}`, metadata: {} })
})

/** Calls of that tool. */
export const touching = (...paths: ReadonlyArray<string>) => call("touch", ...paths.map((path) => ({ path })))

const subagents = [
  agent("lead", { permission: { task: "allow" } }),
  agent("worker"),
  agent("strict", { permission: { edit: "deny" } })
]

/** The services of a test program. */
export const with_ = (
  script: Readonly<Record<string, Script>>,
  options: Pick<SkeinTestOptions, "asks" | "confinement" | "rules" | "hooks" | "storage" | "tools"> = {}
) => Effect.provide(layer(make(script), { tools: [touch], agents: subagents, asks: "person", ...options }))

/** The results of its calls that the model reads. */
export const results = (id: SessionID) => Effect.map(callsMade(id), (found) => found.map(resultOf))

/** The open questions. */
export const waiting = Effect.flatMap(Permission, (permission) => permission.pending())

/** Starts a turn and waits until this many questions are open. */
export const begin = Effect.fnUntraced(function*(id: SessionID, questions: number) {
  const events = yield* record()
  const turn = yield* Effect.fork(Session.prompt(id, "Begin"))
  while ((yield* waiting).length < questions) {
    const known = events.of("permission.asked").length
    yield* events.first("permission.asked", (event) => events.of("permission.asked").indexOf(event) >= known)
  }
  return { turn, events, requests: yield* waiting }
})
