/** Owns the routes of a project's agents, commands, skills and models. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { AgentInfo } from "@skein/domain/AgentInfo"
import * as Schema from "effect/Schema"
import { page } from "./Input.ts"
import { Broken, Command, Model, ModelChoice, pageOf, Skill } from "./Output.ts"

/** Which project. With `session`, the directory is that of the session, on a server that sees it. */
const directory = Schema.Struct({ directory: Schema.String, session: Schema.optional(Schema.String) })
const about = (summary: string) => OpenApi.annotations({ summary })
const paged = Schema.Struct({ ...directory.fields, ...page })
/** A page of what a broken file may hide. */
const found = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.Struct({ ...pageOf(schema).fields, broken: Schema.Array(Broken) })
const name = Schema.Struct({ name: Schema.String })

/** A project's agents, commands, skills and models. */
export class ProjectRoutes extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("agents", "/v1/agents")
      .setUrlParams(Schema.Struct({ ...paged.fields, hidden: Schema.optional(Schema.Literal("true", "false")) }))
      .addSuccess(Schema.Struct({ ...pageOf(AgentInfo).fields, default: Schema.String }))
      .annotateContext(about("Lists the agents and names the default one; includes internal ones on request"))
  )
  .add(
    HttpApiEndpoint.get("agent", "/v1/agents/:name").setPath(name).setUrlParams(directory).addSuccess(AgentInfo)
      .annotateContext(about("Reads an agent"))
  )
  .add(
    HttpApiEndpoint.get("commands", "/v1/commands")
      .setUrlParams(Schema.Struct({ ...paged.fields, servers: Schema.optional(Schema.Literal("true", "false")) }))
      .addSuccess(found(Command))
      .annotateContext(about("Lists the commands; starts the MCP servers and waits for their prompts on request"))
  )
  .add(
    HttpApiEndpoint.get("command", "/v1/commands/:name").setPath(name).setUrlParams(directory).addSuccess(Command)
      .annotateContext(about("Reads the command with this name"))
  )
  .add(
    HttpApiEndpoint.get("skills", "/v1/skills").setUrlParams(paged).addSuccess(found(Skill))
      .annotateContext(about("Lists the skills"))
  )
  .add(
    HttpApiEndpoint.get("models", "/v1/models").setUrlParams(paged).addSuccess(pageOf(Model))
      .annotateContext(about("Lists the models, and which of them can be used"))
  )
  .add(
    HttpApiEndpoint.get("model", "/v1/models/choice")
      .setUrlParams(Schema.Struct({
        ...directory.fields,
        agent: Schema.String,
        model: Schema.optional(Schema.String)
      }))
      .addSuccess(ModelChoice)
      .annotateContext(about("Reads which model an agent uses: the one that you name, or else its own"))
  )
  .add(
    HttpApiEndpoint.get("instructions", "/v1/instructions").setUrlParams(directory)
      .addSuccess(Schema.Struct({ text: Schema.optional(Schema.String) }))
      .annotateContext(about("Reads the instructions that all agents of a directory get"))
  )
  .annotateContext(OpenApi.annotations({
    description:
      "The agents, commands, skills and models of a project. `session` names a session whose directory counts instead of `directory`: a cluster asks a server that sees it."
  }))
{}
