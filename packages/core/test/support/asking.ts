/** Agents whose calls are asked for, and what becomes of the questions. */
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { define } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import { call, make, type Script } from "@skein/testing/ScriptedProvider"
import { agent, layer, type SkeinTestOptions } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { callsMade, said } from "./tree.ts"

/** A tool that goes by the permission `edit`, and asks for it for the path that it is given. */
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

/** Calls of it. */
export const touching = (...paths: ReadonlyArray<string>) => call("touch", ...paths.map((path) => ({ path })))

const subagents = [
  agent("lead", { permission: { task: "allow" } }),
  agent("worker"),
  agent("strict", { permission: { edit: "deny" } })
]

/** What a program is run with. */
export const with_ = (
  script: Readonly<Record<string, Script>>,
  options: Pick<SkeinTestOptions, "asks" | "rules" | "hooks" | "storage" | "tools"> = {}
) => Effect.provide(layer(make(script), { tools: [touch], agents: subagents, asks: "person", ...options }))

/** What the model is told of its calls. */
export const results = (id: SessionID) => Effect.map(callsMade(id), (found) => found.map(said))

/** The questions that wait. */
export const waiting = Effect.flatMap(Permission, (permission) => permission.pending())

/** Begins a turn and waits until so many questions wait. */
export const begin = Effect.fnUntraced(function*(id: SessionID, questions: number) {
  const heard = yield* record()
  const turn = yield* Effect.fork(Session.prompt(id, "Begin"))
  while ((yield* waiting).length < questions) {
    const known = heard.of("permission.asked").length
    yield* heard.first("permission.asked", (event) => heard.of("permission.asked").indexOf(event) >= known)
  }
  return { turn, heard, requests: yield* waiting }
})
