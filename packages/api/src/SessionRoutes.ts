/** Owns the routes of sessions. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { MessageID } from "@skein/domain/Id"
import { SessionInfo, SessionSummary, Todo } from "@skein/domain/SessionInfo"
import { ListedSession, ShownSession, TreePage } from "@skein/domain/TreeSnapshot"
import * as Schema from "effect/Schema"
import {
  ChangeSession,
  CreateSession,
  flag,
  ForkSession,
  idempotency,
  page,
  Prompt,
  replay,
  whichMessages
} from "./Input.ts"
import {
  Accepted,
  Compacted,
  Cost,
  MessageWithParts,
  pageOf,
  Position,
  Rested,
  RootSession,
  TreeTimeline,
  Turn,
  Withdrawal
} from "./Output.ts"

/** The id of the session is part of the path. */
export const id = Schema.Struct({ id: Schema.String })

const about = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }) })

const created = SessionInfo.annotations(HttpApiSchema.annotations({ status: 201 }))

/** Events as they are sent. */
export const eventStream = HttpApiSchema.Text({ contentType: "text/event-stream" })

const waiting = Schema.Struct({ unattended: flag })

const reading = [
  HttpApiEndpoint.get("list", "/v1/sessions")
    .setUrlParams(
      Schema.Struct({
        ...page,
        projectID: Schema.optional(Schema.String),
        directory: Schema.optional(Schema.String)
      })
    )
    .addSuccess(pageOf(RootSession))
    .annotateContext(about(
      "Lists the root sessions, newest change first",
      "Of all projects, or with `projectID` of one; with `directory`, of the project of that directory on the server."
    )),
  HttpApiEndpoint.get("get", "/v1/sessions/:id").setPath(id).addSuccess(ShownSession)
    .annotateContext(about("Reads a session, with its status and the process that holds its tree")),
  HttpApiEndpoint.get("children", "/v1/sessions/:id/children").setPath(id)
    .setUrlParams(Schema.Struct(page)).addSuccess(pageOf(ListedSession))
    .annotateContext(about("Lists the sessions directly below a session, oldest first")),
  HttpApiEndpoint.get("messages", "/v1/sessions/:id/messages").setPath(id).setUrlParams(whichMessages)
    .addSuccess(pageOf(MessageWithParts))
    .annotateContext(about(
      "Lists the messages of a session with their parts, oldest first",
      "In pages of at most 200 messages and some 1 MB; read the next with `cursor`. With `newest`, a page of so many of the newest at most; read the page before it with `next` as `before`."
    )),
  HttpApiEndpoint.get("todos", "/v1/sessions/:id/todos").setPath(id)
    .setUrlParams(Schema.Struct(page)).addSuccess(pageOf(Todo))
    .annotateContext(about("Lists the todos of a session")),
  HttpApiEndpoint.get("cost", "/v1/sessions/:id/cost").setPath(id).addSuccess(Cost)
    .annotateContext(about("Reads what a session and everything below it have used, in total and by agent")),
  HttpApiEndpoint.get("tree", "/v1/sessions/:id/tree").setPath(id)
    .setUrlParams(Schema.Struct(page)).addSuccess(TreePage)
    .annotateContext(about(
      "Reads the tree of a session",
      "A snapshot, and the `seq` of the last event in it. Read the events after that `seq` to keep it up to date. In pages "
        + "of 500 sessions and some 1 MB at most, parents first: read the next with `cursor`, and keep the `seq` of the first."
    )),
  HttpApiEndpoint.get("timeline", "/v1/sessions/:id/timeline").setPath(id)
    .setUrlParams(Schema.Struct(page)).addSuccess(TreeTimeline)
    .annotateContext(about(
      "Reads what each agent of the tree did at which time",
      "Spans of work and of waiting, the model that answered last, and the calls that run. The events after its `seq` "
        + "keep it up to date. In pages like the tree. An agent has at most 500 spans at once, and may come again with more."
    )),
  HttpApiEndpoint.get("position", "/v1/sessions/:id/position").setPath(id).addSuccess(Position)
    .annotateContext(about("Reads the `seq` of the last event of a session's tree")),
  HttpApiEndpoint.get("turn", "/v1/sessions/:id/turns/:message")
    .setPath(Schema.Struct({ ...id.fields, message: Schema.String })).setUrlParams(waiting).addSuccess(Turn)
    .annotateContext(about(
      "Waits for the turn that answers a message, and answers with it",
      "`unattended=true` denies questions meanwhile."
    )),
  HttpApiEndpoint.get("rest", "/v1/sessions/:id/rest").setPath(id).setUrlParams(waiting).addSuccess(Rested)
    .annotateContext(about(
      "Waits until nothing of a session runs",
      "Neither a turn nor a background task. Answers with the last turn of the session, or with how that failed. "
        + "`unattended=true` denies questions meanwhile."
    )),
  HttpApiEndpoint.get("events", "/v1/sessions/:id/events").setPath(id)
    .setUrlParams(replay.query).setHeaders(replay.headers).addSuccess(eventStream)
    .annotateContext(about(
      "Streams the events of a session's tree",
      "Server-sent events: `id` is the `seq`, `event` the type, `data` the event as JSON. `from` and `Last-Event-ID` "
        + "replay what came after that `seq`, then the stream continues live. `reset` means that events are missing: "
        + "read the tree again."
    ))
] as const

const writing = [
  HttpApiEndpoint.post("create", "/v1/sessions").setHeaders(idempotency).setPayload(CreateSession).addSuccess(created)
    .annotateContext(about(
      "Creates a root session",
      "Sent again with the same `Idempotency-Key` within 24 hours, it creates nothing and answers with the same session."
    )),
  HttpApiEndpoint.patch("change", "/v1/sessions/:id").setPath(id).setPayload(ChangeSession).addSuccess(SessionInfo)
    .annotateContext(about(
      "Changes the title of a session, or the mode of its tree",
      "A mode applies to new calls immediately, and to waiting questions after two seconds."
    )),
  HttpApiEndpoint.del("remove", "/v1/sessions/:id").setPath(id).addSuccess(HttpApiSchema.NoContent)
    .annotateContext(about("Stops and deletes a session and all sessions below it")),
  HttpApiEndpoint.post("prompt", "/v1/sessions/:id/prompt").setPath(id)
    .setUrlParams(Schema.Struct({ wait: flag }))
    .setHeaders(idempotency).setPayload(Prompt).addSuccess(Turn).addSuccess(Accepted)
    .annotateContext(about(
      "Prompts a session",
      "Answers with 202 once the prompt is stored, or with the turn if `wait=true`. A prompt that is sent again with the "
        + "same `Idempotency-Key` within 24 hours prompts nobody, and gets the same answer."
    )),
  HttpApiEndpoint.del("withdraw", "/v1/sessions/:id/inbox/:message")
    .setPath(Schema.Struct({ ...id.fields, message: MessageID })).addSuccess(Withdrawal)
    .annotateContext(about(
      "Withdraws a prompt that no agent has read yet",
      "Answers with its text, or with `gone` if an agent has it already, or somebody else has withdrawn it."
    )),
  HttpApiEndpoint.post("interrupt", "/v1/sessions/:id/interrupt").setPath(id)
    .setUrlParams(Schema.Struct({ by: Schema.optional(Schema.String.pipe(Schema.maxLength(200))) })).addSuccess(
      HttpApiSchema.NoContent
    )
    .annotateContext(about(
      "Stops a session and everything below it",
      "`by` names the caller in the outcomes of its tasks."
    )),
  HttpApiEndpoint.post("resume", "/v1/sessions/:id/resume").setPath(id).addSuccess(HttpApiSchema.Accepted)
    .annotateContext(about("Continues what a crash or a shutdown interrupted in a tree")),
  HttpApiEndpoint.post("fork", "/v1/sessions/:id/fork").setPath(id).setHeaders(idempotency).setPayload(ForkSession)
    .addSuccess(created)
    .annotateContext(about(
      "Copies a session",
      "Sent again with the same `Idempotency-Key` within 24 hours, it copies nothing and answers with the same copy."
    )),
  HttpApiEndpoint.post("compact", "/v1/sessions/:id/compact").setPath(id).setHeaders(idempotency).addSuccess(Compacted)
    .annotateContext(about(
      "Has a model summarise a long conversation, so that less of it is sent",
      "Sent again with the same `Idempotency-Key` within 24 hours, it asks no model and gets the same answer."
    )),
  HttpApiEndpoint.post("summarize", "/v1/sessions/:id/summarize").setPath(id).setHeaders(idempotency)
    .addSuccess(SessionSummary)
    .annotateContext(about(
      "Has a model summarise the result of a session",
      "Sent again with the same `Idempotency-Key` within 24 hours, it asks no model and gets the same answer."
    ))
] as const

const [list, get, children, messages, todos, cost, tree, timeline, position, turn, rest, events] = reading
const [create, change, remove, prompt, withdraw, interrupt, resume, fork, compact, summarize] = writing

/** Sessions: conversations and their trees. */
export class SessionRoutes extends HttpApiGroup.make("sessions")
  .add(list).add(get).add(children).add(messages).add(todos).add(cost).add(tree).add(timeline).add(position).add(turn)
  .add(rest)
  .add(events)
  .add(create).add(change).add(remove).add(prompt).add(withdraw).add(interrupt).add(resume).add(fork).add(compact).add(
    summarize
  )
  .annotateContext(OpenApi.annotations({ description: "Conversations, and the trees that they are in" }))
{}
