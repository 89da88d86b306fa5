/** Makes the server that answers one client: which methods and tools there are, and what each is answered with. */
import {
  type CallToolResult,
  type InputRequiredResult,
  isTaskAugmentedRequestParams,
  ProtocolError,
  ProtocolErrorCode,
  Server
} from "@modelcontextprotocol/server"
import { Agent } from "@skein/core/Agent"
import { Projects } from "@skein/core/Projects"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ManyServices } from "@skein/core/Skein"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { ServingHost } from "../../ServingHost.ts"
import { cleanLine } from "../content.ts"
import { tasksExtension } from "../serverTask.ts"
import { textResult } from "./attend.ts"
import { type Call, callOf, type Refused, refusedBy } from "./Call.ts"
import type { Owner } from "./Owner.ts"
import { readResource, type Resources, template } from "./resources.ts"
import {
  delegateTask,
  directoryOf,
  registerTaskMethods,
  type Run,
  sendMessage,
  stopTask,
  taskStatuses
} from "./tasks.ts"
import { type InputOf, inputs, isTool, readInput, toolsOf } from "./tools.ts"

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
interface ToolCall {
  readonly name: string
  readonly arguments: unknown
  readonly call: Call
  /** Whether the client wants a task of 2025-11-25. */
  readonly asTask: boolean
}

const runTool = (
  host: ServingHost,
  owner: Owner,
  { arguments: given, asTask, call, name }: ToolCall
): Effect.Effect<CallToolResult | InputRequiredResult, Refused, ManyServices> => {
  if (!isTool(name)) {
    return Effect.die(new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${cleanLine(name, 100)}`))
  }
  switch (name) {
    case "task":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => delegateTask(owner, input, call, asTask))
    case "task_status":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => taskStatuses(owner, input, call))
    case "task_message":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => sendMessage(owner, input))
    case "task_stop":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => stopTask(owner, input))
    case "sessions":
      return Effect.flatMap(readInput(name, inputs[name], given), (input) => sessions(host, owner, input))
  }
}

/** Calls a tool. What the client can act on is a result that says so, and no error of the protocol. */
const callTool = (host: ServingHost, owner: Owner, wanted: ToolCall) =>
  Effect.catchTag(runTool(host, owner, wanted), "Refused", ({ message: why }) => Effect.succeed(textResult(why, true)))

const instructions =
  "Skein runs agents that delegate. Call `task` to have one of them work in a directory; its conclusion is the result. "
  + "What it is not permitted by the rules it asks you for, where you can show forms; otherwise it is denied."

/** Lines about the agents of the directory that the client works in; none where that is unknown or cannot be opened. */
const agentLines = (host: ServingHost, { directory }: Owner) =>
  directory === undefined
    ? Effect.succeed([])
    : Effect.flatMap(
      host.place(directory),
      (place) => Projects.use(place.directory, Effect.map(Agent, ({ all }) => all))
    ).pipe(
      Effect.map((agents) =>
        agents.filter(({ hidden }) => !hidden).map(({ description, name }) =>
          `- ${name}${description === undefined ? "" : `: ${cleanLine(description, 300)}`}`
        )
      ),
      Effect.orElseSucceed(() => [])
    )

/** Makes it. */
export const makeServer = (host: ServingHost, owner: Owner, resources: Resources, run: Run): Server => {
  const server = new Server({ name: "skein", title: "Skein", version: host.version }, {
    instructions,
    capabilities: {
      tools: {},
      resources: { listChanged: true },
      extensions: { [tasksExtension]: {} },
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } }
    }
  })
  server.setRequestHandler(
    "tools/list",
    () => run(Effect.map(agentLines(host, owner), (agents) => ({ tools: toolsOf(agents) })))
  )
  server.setRequestHandler("tools/call", ({ params }, context) =>
    run(
      callTool(host, owner, {
        name: params.name,
        arguments: params.arguments,
        call: callOf(server, context),
        asTask: context.mcpReq.envelope === undefined && isTaskAugmentedRequestParams(params) &&
          params.task !== undefined
      })
    ))
  server.setRequestHandler("resources/list", ({ params }) => run(resources.list(params?.cursor)))
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [template] }))
  server.setRequestHandler("resources/read", ({ params: { uri } }) => run(readResource(host, owner, uri)))
  registerTaskMethods(server, owner, run)
  return server
}
