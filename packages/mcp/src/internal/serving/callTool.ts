/** Answers the calls of tools. */
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode
} from "@modelcontextprotocol/server"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ManyServices } from "@skein/core/Skein"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { ServingHost } from "../../ServingHost.ts"
import { cleanLine } from "../cleanText.ts"
import { textResult } from "./attend.ts"
import type { Call } from "./Call.ts"
import type { Owner } from "./Owner.ts"
import { type Refused, refusedBy } from "./Refused.ts"
import { directoryOf, message, status, stop, task } from "./taskTools.ts"
import { type InputOf, inputs, isTool, readInput } from "./tools.ts"

/** How many sessions are listed. */
const listed = 50

const lineOf = ({ agent, id, time, title }: SessionInfo): string =>
  `${id}  ${new Date(time.updated).toISOString()}  ${agent}  ${cleanLine(title, 100)}`

const sessions = Effect.fnUntraced(function*(host: ServingHost, owner: Owner, input: InputOf<"sessions">) {
  const storage = yield* SessionStorage
  const directory = yield* directoryOf(owner, input.directory)
  const { projectID } = yield* Effect.mapError(host.place(directory), refusedBy)
  const { rows } = yield* Effect.mapError(storage.sessions({ projectID, roots: true, limit: listed }), refusedBy)
  return textResult(rows.length === 0 ? "This project has no sessions yet." : rows.map(lineOf).join("\n"))
})

/** What a client calls, and how. */
export interface ToolCall {
  readonly name: string
  readonly arguments: unknown
  readonly call: Call
  /** Whether the client wants a task of 2025-11-25. */
  readonly asTask: boolean
}

const run = (
  host: ServingHost,
  owner: Owner,
  { arguments: given, asTask, call, name }: ToolCall
): Effect.Effect<CallToolResult | InputRequiredResult, Refused, ManyServices> => {
  if (!isTool(name)) {
    return Effect.die(new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${cleanLine(name, 100)}`))
  }
  switch (name) {
    case "task":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => task(owner, input, call, asTask))
    case "task_status":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => status(owner, input, call))
    case "task_message":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => message(owner, input))
    case "task_stop":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => stop(owner, input))
    case "sessions":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => sessions(host, owner, input))
  }
}

/** Calls a tool. What the client can act on is a result that says so, and no error of the protocol. */
export const callTool = (host: ServingHost, owner: Owner, wanted: ToolCall) =>
  Effect.catchTag(run(host, owner, wanted), "Refused", ({ message: why }) => Effect.succeed(textResult(why, true)))
