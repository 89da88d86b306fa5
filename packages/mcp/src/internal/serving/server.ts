/** Makes the server that answers one client: which methods there are, and what each is answered with. */
import { isTaskAugmentedRequestParams, Server } from "@modelcontextprotocol/server"
import { Agent } from "@skein/core/Agent"
import { Projects } from "@skein/core/Projects"
import * as Effect from "effect/Effect"
import type { ServingHost } from "../../ServingHost.ts"
import { cleanLine } from "../cleanText.ts"
import { tasksExtension } from "../tasks/Task.ts"
import { callOf } from "./Call.ts"
import { callTool } from "./callTool.ts"
import type { Owner } from "./Owner.ts"
import { readResource, type Resources, template } from "./resources.ts"
import { registerTaskMethods, type Run } from "./taskMethods.ts"
import { toolsOf } from "./tools.ts"

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
