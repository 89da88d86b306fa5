/** Shared parts of the summary tests: tools that report changes, a session with a turn, and its summary requests. */
import { Session } from "@skein/core/Session"
import type { AnyTool, ToolResult } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { root } from "./tree.ts"

const telling = (name: string, metadata: (input: SkeinTest.TestInput) => ToolResult["metadata"]): AnyTool => ({
  ...SkeinTest.tool(name, () => Effect.succeed("")),
  permission: name === "bash" ? "bash" : "edit",
  execute: (input: SkeinTest.TestInput) => Effect.succeed({ title: name, output: "Done.", metadata: metadata(input) })
})
const edit = telling("edit", ({ filePath }) => ({ filePath }))
const patch = telling("patch", () => ({ files: ["A new.ts", "M src/a.ts"] }))
const bash = telling("bash", () => ({ exit: 2 }))

/** A call that changes a file. */
export const changing = Scripted.call("edit", { filePath: "src/a.ts" })

/** Runs a program on all of Skein with these tools. */
export const use = <A, E>(
  script: Scripted.Scripted,
  program: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>> | Scope.Scope>,
  config: SkeinTest.SkeinTestOptions["config"] = {}
) =>
  Effect.provide(
    Effect.scoped(program),
    SkeinTest.layer(script, {
      agents: [SkeinTest.agent("worker")],
      tools: [edit, patch, bash],
      rules: { "*": "allow" },
      config
    })
  )

/** The requests for a summary. */
export const summaries = ({ requests }: Scripted.Scripted) =>
  requests.filter(({ origin }) => origin.purpose === "summary")

/** The digest in the last of them. */
export const asked = (script: Scripted.Scripted): string => {
  const content = summaries(script).at(-1)?.messages.at(-1)?.content
  const [part] = Array.isArray(content) ? content : []
  return part?.type === "text" ? part.text : ""
}

/** The stored summary. */
export const summaryOf = (id: SessionID) =>
  Effect.flatMap(Session, (session) => Effect.map(session.get(id), ({ summary }) => summary))

/** A session that has answered once. */
export const prompted = Effect.gen(function*() {
  const session = yield* Session
  const { id } = yield* root()
  yield* session.prompt(id, "Go")
  return { id, session }
})
