/** Carries the questions of a tree to the client, and its answers back. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { AskedOf } from "../../Change.ts"
import type { Client } from "../connection/Client.ts"
import { FormAnswer, notUnderstood, PermissionAnswer, readAnswer } from "./answer.ts"
import { answerOf, permissionRequest } from "./permission.ts"
import { answersIn, choiceOf, chosen, formOf } from "./question.ts"

/** A question as it is asked. */
interface Asked {
  readonly ask: AskedOf
  readonly call: ToolPart | undefined
  /** The session that the client sees it in. */
  readonly session: string
  readonly directory: string
}

/** Somebody else has answered, or its agent is gone: nothing is left to answer. */
const isOver = ({ _tag }: BackendError): boolean => _tag === "PermissionNotFound" || _tag === "QuestionNotFound"

const readPermission = readAnswer(PermissionAnswer)

const readForm = readAnswer(FormAnswer)

const askFor = (client: Client, { asks }: typeof Backend.Service, { ask, call, directory, session }: Asked) => {
  if (ask.kind === "permission") {
    return client.ask("session/request_permission", permissionRequest(ask.request, call, session, directory)).pipe(
      Effect.flatMap((answer) =>
        Effect.flatMap(readPermission(answer), (read) => {
          const meant = answerOf(ask.request, read)
          return meant === undefined ? Effect.fail(notUnderstood(answer)) : Effect.succeed(meant)
        })
      ),
      Effect.flatMap(({ reply, scope }) => asks.reply(ask.request.id, reply, scope === undefined ? {} : { scope }))
    )
  }
  const choice = choiceOf(ask.request, session)
  const answers = client.capabilities.elicitation?.form
    ? Effect.map(Effect.flatMap(client.ask("elicitation/create", formOf(ask.request, session)), readForm), answersIn)
    : choice === undefined
    ? Effect.succeed(undefined)
    : Effect.map(
      Effect.flatMap(client.ask("session/request_permission", choice), readPermission),
      (answer) => chosen(ask.request, answer)
    )
  return Effect.flatMap(
    answers,
    (given) => given === undefined ? asks.dismiss(ask.request.id) : asks.answer(ask.request.id, given)
  )
}

/** What asks the client. Its functions return at once. */
export interface Asking {
  readonly ask: (asked: Asked) => void
  /** A question has an answer, or needs none any more. */
  readonly over: (id: string) => void
}

/**
 * Makes it. A client that fails to ask, or that answers what nobody understands, has refused. One that is gone has not: its questions wait for the next client that
 * opens the session.
 */
export const makeAsking = (
  client: Client,
  backend: typeof Backend.Service
): Effect.Effect<Asking, never, Scope.Scope> =>
  Effect.gen(function*() {
    const open = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(open)()

    const refuse = ({ ask: { kind, request } }: Asked) =>
      kind === "permission" ? backend.asks.reply(request.id, "reject") : backend.asks.dismiss(request.id)

    const rejected = (asked: Asked, why: string) =>
      Effect.zipRight(
        Effect.annotateLogs(
          Effect.logWarning(`${why}. This counts as ${asked.ask.kind === "permission" ? "a rejection" : "no answer"}.`),
          // Shown without --verbose too.
          { notice: true }
        ),
        refuse(asked)
      )

    const carry = (asked: Asked) =>
      askFor(client, backend, asked).pipe(
        Effect.catchTags({
          ClientRefused: ({ message }) =>
            client.isGone() ? Effect.void : rejected(asked, `The editor answered a question with an error: ${message}`),
          NotUnderstood: ({ message }) =>
            rejected(asked, `The editor's answer to a question was not understood: ${message}`)
        }),
        Effect.catchAll((error) =>
          isOver(error) ? Effect.void : Effect.logWarning("An answer could not be stored", error.message)
        )
      )

    return {
      ask: (asked) => void run(asked.ask.request.id, carry(asked), { onlyIfMissing: true }),
      over: (id) => {
        const fiber = Option.getOrUndefined(FiberMap.unsafeGet(open, id))
        fiber?.unsafeInterruptAsFork(FiberId.none)
      }
    }
  })
