/** Owns the routes that export and import whole trees of sessions. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { SessionInfo } from "@skein/domain/SessionInfo"
import * as Schema from "effect/Schema"
import { flag } from "./Input.ts"

const about = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** A tree as one JSON document. */
const Archive = HttpApiSchema.Text({ contentType: "application/json" })

/** The route for imports. Its body may be larger than those of other routes. */
export const importPath = "/v1/sessions/import"

/** Trees of sessions as documents. */
export class ArchiveRoutes extends HttpApiGroup.make("archives")
  .add(
    HttpApiEndpoint.get("export", "/v1/sessions/:id/export").setPath(Schema.Struct({ id: Schema.String }))
      .setUrlParams(Schema.Struct({ partial: flag })).addSuccess(Archive)
      .annotateContext(about(
        "Exports the tree of a session",
        "Sends one JSON document, piece by piece. If rows cannot be read, it is refused; `partial=true` leaves them out."
      ))
  )
  .add(
    HttpApiEndpoint.post("import", importPath)
      .setUrlParams(Schema.Struct({ copy: flag, directory: Schema.optional(Schema.String) }))
      .setPayload(Schema.Unknown.annotations({ description: "What an export sent" }))
      .addSuccess(SessionInfo.annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotateContext(about(
        "Imports what an export sent, all or nothing",
        "Answers with the root. `copy=true` gives everything new ids, so that the original may exist here too. "
          + "`directory` is where the sessions work from now on. It may be as large as the disk of the server has room for."
      ))
  )
  .annotateContext(OpenApi.annotations({ description: "Trees of sessions as JSON documents" }))
{}
