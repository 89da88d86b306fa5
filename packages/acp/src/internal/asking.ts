import type {
  CreateElicitationRequest,
  ElicitationPropertySchema,
  PermissionOption,
  RequestPermissionRequest
} from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { PermissionReply, PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import type { ToolPart } from "@skein/domain/Part"
import { visible, visibleLine } from "@skein/view/Visible"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { AskedOf } from "../Projection.ts"
import type { Client } from "./connection/Client.ts"
import {
  askTitle,
  callFields,
  diffInRequest,
  fenced,
  kindOf,
  questionText,
  subjectOf,
  textContent
} from "./encode/common.ts"

/** An answer that makes no sense. */
interface NotUnderstood {
  readonly _tag: "NotUnderstood"
  /** The answer, shortened. */
  readonly message: string
}

/** The answer to `session/request_permission`. */
const PermissionAnswer = Schema.Struct({
  outcome: Schema.Union(
    Schema.Struct({ outcome: Schema.Literal("cancelled") }),
    Schema.Struct({ outcome: Schema.Literal("selected"), optionId: Schema.String })
  )
})

/** The answer to `elicitation/create`. */
const FormAnswer = Schema.Struct({
  action: Schema.Literal("accept", "decline", "cancel"),
  content: Schema.optional(Schema.Unknown)
})

/** The most characters of an answer in a message. */
const longestShown = 200

/** The error for an answer. */
const notUnderstood = (answer: unknown): NotUnderstood => ({
  _tag: "NotUnderstood",
  message: String(JSON.stringify(answer)).slice(0, longestShown)
})

/** The answer if it has the right shape. */
const readAnswer = <A, I>(schema: Schema.Schema<A, I>): (answer: unknown) => Effect.Effect<A, NotUnderstood> => {
  const decode = Schema.decodeUnknownEither(schema)
  return (answer) => Either.mapLeft(decode(answer), () => notUnderstood(answer))
}

/** What a person chose. */
interface Answer {
  readonly reply: PermissionReply
  readonly scope?: "tree" | "project"
}

const optionsOf = ({ always, permission }: PermissionRequest): Array<PermissionOption> => {
  const rules = visibleLine(always.map((pattern) => `${permission} ${pattern}`).join(", "))
  return [
    { optionId: "once", kind: "allow_once", name: "Allow once" },
    ...(always.length === 0 ? [] : [
      { optionId: "tree", kind: "allow_always", name: `Always allow in this session: ${rules}` },
      { optionId: "project", kind: "allow_always", name: `Always allow in this project: ${rules}` }
    ] satisfies Array<PermissionOption>),
    { optionId: "reject", kind: "reject_once", name: "Reject" }
  ]
}

/** The request; `call` is the one that asks, where it is known. */
const permissionRequest = (
  request: PermissionRequest,
  call: ToolPart | undefined,
  session: string,
  directory: string
): RequestPermissionRequest => {
  const fields = call === undefined ? undefined : callFields(call, directory)
  const changes = diffInRequest(request.metadata, directory)
  const subject = subjectOf(request)
  const shown = changes.length > 0 ? changes : [textContent(fenced(visible(subject)))]
  return {
    sessionId: session,
    options: optionsOf(request),
    toolCall: {
      toolCallId: request.partID ?? request.id,
      title: askTitle({ kind: "permission", request }),
      kind: fields?.kind ?? kindOf(request.permission),
      status: "pending",
      content: shown,
      ...(fields?.locations === undefined ? {} : { locations: fields.locations }),
      ...(fields?.rawInput === undefined ? {} : { rawInput: fields.rawInput }),
      _meta: { "skein/path": [...request.path], "skein/permission": request.permission }
    }
  }
}

/** What the client's answer means; undefined if it is not among the options. A cancelled answer is a refusal. */
const answerOf = (
  request: PermissionRequest,
  { outcome }: typeof PermissionAnswer.Type
): Answer | undefined => {
  if (outcome.outcome === "cancelled") return { reply: "reject" }
  const { optionId: chosen } = outcome
  if (!optionsOf(request).some(({ optionId }) => optionId === chosen)) return undefined
  if (chosen === "tree" || chosen === "project") return { reply: "always", scope: chosen }
  return { reply: chosen === "once" ? "once" : "reject" }
}

/** The answers of a person; undefined where there is none. */
type Answers = readonly [string, ...ReadonlyArray<string>] | undefined

const choicesOf = ({ options }: QuestionRequest) =>
  options.map(({ description, label }) => ({
    const: label,
    title: visibleLine(description === undefined ? label : `${label}: ${description}`)
  }))

/** The form: the options, and a line for other words. */
export const formOf = (request: QuestionRequest, session: string): CreateElicitationRequest => {
  const choices = choicesOf(request)
  const isFree = choices.length === 0
  const choice: ElicitationPropertySchema = request.multiple
    ? { type: "array", title: "Choices", items: { anyOf: choices } }
    : { type: "string", title: "Choice", oneOf: choices }
  return {
    mode: "form",
    sessionId: session,
    toolCallId: request.id,
    message: questionText(request),
    requestedSchema: {
      type: "object",
      properties: {
        ...(isFree ? {} : { choice }),
        words: { type: "string", title: isFree ? "Answer" : "Or in other words" }
      }
    }
  }
}

/** The answers in a form. */
export const answersIn = ({ action, content }: typeof FormAnswer.Type): Answers => {
  if (action !== "accept") return undefined
  const { choice, words } = Object(content) as { readonly choice?: unknown; readonly words?: unknown }
  const chosen = Array.isArray(choice) ? choice : [choice]
  const [first, ...rest] = [...chosen, words].flatMap((value) =>
    typeof value === "string" && value.trim() !== "" ? [value.trim()] : []
  )
  return first === undefined ? undefined : [first, ...rest]
}

const noAnswer = "none"

/** The question as a choice, for clients without forms; undefined where there is nothing to choose from. */
export const choiceOf = (request: QuestionRequest, session: string): RequestPermissionRequest | undefined =>
  request.options.length === 0 ? undefined : {
    sessionId: session,
    options: [
      ...choicesOf(request).map(({ title }, index) => ({
        optionId: `option-${index}`,
        kind: "allow_once" as const,
        name: title
      })),
      { optionId: noAnswer, kind: "reject_once" as const, name: "No answer" }
    ],
    toolCall: {
      toolCallId: request.id,
      title: visibleLine(questionText(request)),
      kind: "other",
      status: "pending",
      content: [textContent(questionText(request))],
      _meta: { "skein/path": [...request.path] }
    }
  }

/** The answer that a choice is. */
export const chosen = ({ options }: QuestionRequest, { outcome }: typeof PermissionAnswer.Type): Answers => {
  if (outcome.outcome !== "selected") return undefined
  const option = options.find((_, index) => outcome.optionId === `option-${index}`)
  return option === undefined ? undefined : [option.label]
}

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
