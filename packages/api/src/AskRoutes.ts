/** Owns the routes of questions to people, and of approvals. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Schema from "effect/Schema"
import { page, Reply } from "./Input.ts"
import { Approval, pageOf, Suggestion } from "./Output.ts"

const id = Schema.Struct({ id: Schema.String })
const about = (summary: string) => OpenApi.annotations({ summary })

/** Questions that wait for a person. */
export class AskRoutes extends HttpApiGroup.make("asks")
  .add(
    HttpApiEndpoint.get("list", "/v1/asks")
      .setUrlParams(Schema.Struct({ session: Schema.optional(Schema.String), ...page }))
      .addSuccess(Schema.Struct({
        ...pageOf(PendingAsk).fields,
        unreached: Schema.optional(
          Schema.Array(Schema.String).annotations({
            description:
              "URLs of servers of the cluster that did not answer: some questions of their trees may be missing, or answered already"
          })
        )
      }))
      .annotateContext(about("Lists the waiting questions of all trees, or of a session's tree"))
  )
  .add(
    HttpApiEndpoint.post("reply", "/v1/asks/:id/reply").setPath(id).setPayload(Reply)
      .addSuccess(HttpApiSchema.NoContent).annotateContext(about("Answers a question"))
  )
  .annotateContext(OpenApi.annotations({ description: "Questions that wait for a person" }))
{}

/** Approvals: answers of `always`. */
export class PermissionRoutes extends HttpApiGroup.make("permissions")
  .add(
    HttpApiEndpoint.get("list", "/v1/permissions")
      .setUrlParams(Schema.Struct({ projectID: Schema.String, session: Schema.optional(Schema.String), ...page }))
      .addSuccess(pageOf(Approval))
      .annotateContext(about("Lists the approvals of a project and of its trees"))
  )
  .add(
    HttpApiEndpoint.del("revoke", "/v1/permissions/:id").setPath(id)
      .setUrlParams(Schema.Struct({ projectID: Schema.String })).addSuccess(HttpApiSchema.NoContent)
      .annotateContext(about("Revokes an approval"))
  )
  .add(
    HttpApiEndpoint.get("suggestions", "/v1/permissions/suggestions")
      .setUrlParams(Schema.Struct({ projectID: Schema.String, ...page })).addSuccess(pageOf(Suggestion))
      .annotateContext(about("Proposes rules for what people allowed by hand three times or more in a project"))
  )
  .annotateContext(OpenApi.annotations({ description: "Answers of `always`" }))
{}
