/** Owns the routes of what the project of a directory has. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { AgentInfo } from "@skein/domain/AgentInfo"
import * as Schema from "effect/Schema"
import { Command, Model, Skill } from "./Output.ts"

const directory = Schema.Struct({ directory: Schema.String })
const about = (summary: string) => OpenApi.annotations({ summary })
const items = <A, I>(schema: Schema.Schema<A, I>) => Schema.Struct({ items: Schema.Array(schema) })

/** What the project of a directory has. */
export class ProjectRoutes extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("agents", "/v1/agents").setUrlParams(directory).addSuccess(items(AgentInfo))
      .annotateContext(about("Lists the agents"))
  )
  .add(
    HttpApiEndpoint.get("commands", "/v1/commands").setUrlParams(directory).addSuccess(items(Command))
      .annotateContext(about("Lists the commands"))
  )
  .add(
    HttpApiEndpoint.get("skills", "/v1/skills").setUrlParams(directory).addSuccess(items(Skill))
      .annotateContext(about("Lists the skills"))
  )
  .add(
    HttpApiEndpoint.get("models", "/v1/models").setUrlParams(directory).addSuccess(items(Model))
      .annotateContext(about("Lists the models, and which of them can be used"))
  )
  .annotateContext(OpenApi.annotations({ description: "What the project of a directory has" }))
{}
