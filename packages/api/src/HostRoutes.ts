/** Owns the routes for what a server's machine has besides sessions: config, trust, worktrees and old data. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { AllowTrust, CleanWorktrees, idempotency, page, Prune, RevokeTrust } from "./Input.ts"
import { CleanedWorktree, pageOf, Pruned, ShownConfig, TrustItem, Worktree } from "./Output.ts"

const directory = Schema.Struct({ directory: Schema.String })
const about = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }) })
const items = <A, I>(schema: Schema.Schema<A, I>) => Schema.Struct({ items: Schema.Array(schema) })

/** What a server's machine has besides sessions. */
export class HostRoutes extends HttpApiGroup.make("host")
  .add(
    HttpApiEndpoint.get("config", "/v1/config")
      .setUrlParams(Schema.Struct({ ...directory.fields, session: Schema.optional(Schema.String) }))
      .addSuccess(ShownConfig)
      .annotateContext(about("Shows the effective settings of a directory, each with its origin; secrets are hidden"))
  )
  .add(
    HttpApiEndpoint.get("configSchema", "/v1/config/schema").addSuccess(
      Schema.Record({ key: Schema.String, value: Schema.Unknown })
    )
      .annotateContext(about("Reads the JSON Schema of skein.json"))
  )
  .add(
    HttpApiEndpoint.get("trust", "/v1/trust").setUrlParams(Schema.Struct({ ...directory.fields, ...page }))
      .addSuccess(pageOf(TrustItem))
      .annotateContext(about("Lists the settings of a project that apply only if you trust them"))
  )
  .add(
    HttpApiEndpoint.post("allowTrust", "/v1/trust/allow").setPayload(AllowTrust).addSuccess(items(TrustItem))
      .annotateContext(about(
        "Trusts settings until their values change",
        "An id stands for one value in one place. Needs the token of the server: a login is not enough."
      ))
  )
  .add(
    HttpApiEndpoint.post("revokeTrust", "/v1/trust/revoke").setPayload(RevokeTrust).addSuccess(items(TrustItem))
      .annotateContext(about("Revokes trust"))
  )
  .add(
    HttpApiEndpoint.get("worktrees", "/v1/worktrees").setUrlParams(Schema.Struct(page)).addSuccess(pageOf(Worktree))
      .annotateContext(about("Lists the worktrees of tasks"))
  )
  .add(
    HttpApiEndpoint.post("cleanWorktrees", "/v1/worktrees/clean").setPayload(CleanWorktrees)
      .addSuccess(items(CleanedWorktree))
      .annotateContext(about(
        "Removes the worktrees of tasks whose work also exists elsewhere",
        "`force` also removes those with work that exists nowhere else. Tasks at work keep theirs."
      ))
  )
  .add(
    HttpApiEndpoint.post("prune", "/v1/prune").setHeaders(idempotency).setPayload(Prune).addSuccess(Pruned)
      .annotateContext(about(
        "Removes old events and long texts, and sessions that have not changed for a while",
        "Sessions are only removed with `olderThan`: those of a project, or with `all` those of all projects. Sent again "
          + "to the same process with the same `Idempotency-Key` within 24 hours, it removes nothing and gets the same answer."
      ))
  )
  .annotateContext(OpenApi.annotations({ description: "Config, trust, worktrees and old data" }))
{}
