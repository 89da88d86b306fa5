/** Implements the routes of questions to people, and of approvals. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { Reply } from "@skein/api/Input"
import { problem } from "@skein/api/Problem"
import { answerAnywhere } from "@skein/core/Control"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import { approvalsOf, asksOf } from "@skein/core/SessionLookup"
import { PartID, PermissionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { suggestionsFor } from "../../Suggestions.ts"
import { ServerState } from "../ServerState.ts"
import { noting } from "./reached.ts"
import { asProblem, ordered } from "./toProblem.ts"

const isPermission = Schema.is(PermissionID)
const isQuestion = Schema.is(PartID)

const wrongKind = (wanted: string) => problem(422, "WrongAnswer", `This question is answered with ${wanted}.`)

/** Answers where the question waits. In a cluster, each server is asked, and answers for its own trees. */
const given = <E extends { readonly _tag: string }, R>(
  request: Parameters<typeof answerAnywhere>[0],
  own: Effect.Effect<void, E, R>
) =>
  Effect.flatMap(
    ServerState,
    ({ options: { cluster } }) => cluster === undefined ? answerAnywhere(request, own) : own
  )

const reply = Effect.fnUntraced(function*(id: string, payload: Reply) {
  if (isPermission(id)) {
    if (!("answer" in payload)) return yield* Effect.fail(wrongKind("`answer`: once, always or reject"))
    const { answer, message, scope } = payload
    const options = { ...(message === undefined ? {} : { message }), ...(scope === undefined ? {} : { scope }) }
    const own = Permission.reply(id, answer, options)
    return yield* asProblem(given({ type: "reply", id, answer, ...options }, own))
  }
  if (isQuestion(id)) {
    const question = yield* Question
    if ("answers" in payload) {
      const { answers } = payload
      return yield* asProblem(given({ type: "answer", id, answers }, question.reply(id, answers)))
    }
    if ("dismiss" in payload) return yield* asProblem(given({ type: "dismiss", id }, question.dismiss(id)))
    return yield* Effect.fail(wrongKind("`answers`, a list of texts, or `dismiss`: true"))
  }
  return yield* Effect.fail(problem(404, "AskNotFound", `No question ${id.slice(0, 100)} waits for an answer.`))
})

/** The routes of questions. */
export const askRoutes = HttpApiBuilder.group(Api, "asks", (handlers) =>
  handlers
    .handle("list", ({ urlParams: { session, ...page } }) => asProblem(asksOf(session, page)))
    .handle("reply", ({ path, payload }) => reply(path.id, payload))
    .pipe(noting))

/** The routes of approvals. */
export const permissionRoutes = HttpApiBuilder.group(Api, "permissions", (handlers) =>
  handlers
    .handle(
      "list",
      ({ urlParams: { projectID, session, ...page } }) => asProblem(approvalsOf(projectID, session, page))
    )
    .handle(
      "suggestions",
      ({ urlParams: { projectID, ...page } }) =>
        Effect.flatMap(asProblem(suggestionsFor(projectID)), (items) => ordered(items, page))
    )
    .handle("revoke", ({ path, urlParams }) => asProblem(Permission.revoke(urlParams.projectID, path.id)))
    .pipe(noting))
