/** Owns the contract: all routes of the API, and the document that describes them. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { ArchiveRoutes } from "./ArchiveRoutes.ts"
import { AskRoutes, PermissionRoutes } from "./AskRoutes.ts"
import { HostRoutes } from "./HostRoutes.ts"
import { describe } from "./internal/describe.ts"
import { problems } from "./Problem.ts"
import { ProjectRoutes } from "./ProjectRoutes.ts"
import { PublicRoutes, ServerRoutes } from "./ServerRoutes.ts"
import { SessionRoutes } from "./SessionRoutes.ts"
import { TaskRoutes } from "./TaskRoutes.ts"

/** The API, version 1. */
export class Api extends HttpApi.make("skein")
  .add(PublicRoutes).add(ServerRoutes).add(SessionRoutes).add(ArchiveRoutes).add(TaskRoutes).add(AskRoutes).add(
    PermissionRoutes
  )
  .add(ProjectRoutes).add(HostRoutes)
  .addError(problems[400]).addError(problems[401]).addError(problems[403]).addError(problems[404])
  .addError(problems[405]).addError(problems[408]).addError(problems[409]).addError(problems[413])
  .addError(problems[415]).addError(problems[422]).addError(problems[429]).addError(problems[431])
  .addError(problems[500]).addError(problems[502]).addError(problems[503])
  .annotateContext(OpenApi.annotations({
    title: "Skein",
    version: "1",
    description: "Sessions of agents that delegate, their events, and the questions that they ask.",
    transform: describe
  }))
{}

/** The routes that need no token. */
export const publicPaths: ReadonlySet<string> = new Set(
  Object.values(PublicRoutes.endpoints).map(({ path }) => path)
)

/** The OpenAPI 3.1 document. */
export const document = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api)
