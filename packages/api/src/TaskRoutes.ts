/** Owns the routes of tasks. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { TaskRun } from "@skein/domain/Outcome"
import * as Schema from "effect/Schema"
import { idempotency, page, StopTask, TaskMessage, WaitForTasks } from "./Input.ts"
import { pageOf, Stopped, Task, Told, Waited } from "./Output.ts"

const id = Schema.Struct({ id: Schema.String })
const about = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }) })

/** Tasks: runs of subagents. */
export class TaskRoutes extends HttpApiGroup.make("tasks")
  .add(
    HttpApiEndpoint.get("list", "/v1/tasks")
      .setUrlParams(Schema.Struct({ session: Schema.optional(Schema.String), ...page })).addSuccess(pageOf(TaskRun))
      .annotateContext(about(
        "Lists the runs of all tasks, newest first, or those in the tree of a session, oldest first"
      ))
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/tasks/:id").setPath(id).addSuccess(Task)
      .annotateContext(about("Reads a task with all its runs"))
  )
  .add(
    HttpApiEndpoint.post("stop", "/v1/tasks/:id/stop").setPath(id).setPayload(StopTask).addSuccess(Stopped)
      .annotateContext(about("Stops a task; its partial work comes back"))
  )
  .add(
    HttpApiEndpoint.post("message", "/v1/tasks/:id/message").setPath(id).setHeaders(idempotency)
      .setPayload(TaskMessage).addSuccess(Told)
      .annotateContext(about(
        "Sends a message to a task: a running one reads it at its next step, an idle one starts again",
        "Sent again with the same `Idempotency-Key` within 24 hours, it sends nothing and answers with the same ids."
      ))
  )
  .add(
    HttpApiEndpoint.post("promote", "/v1/tasks/:id/promote").setPath(id).addSuccess(HttpApiSchema.NoContent)
      .annotateContext(about("Moves a running task to the background"))
  )
  .add(
    HttpApiEndpoint.post("wait", "/v1/tasks/wait").setPayload(WaitForTasks).addSuccess(Waited)
      .annotateContext(about("Waits until tasks have settled, or until the time is up"))
  )
  .annotateContext(OpenApi.annotations({ description: "Runs of subagents" }))
{}
