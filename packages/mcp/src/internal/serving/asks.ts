/** Puts the questions of agents into forms that a client shows to a person, and answers them with what comes back. */
import { type ElicitRequestFormParams, type ElicitResult, isSpecType } from "@modelcontextprotocol/server"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import type { StorageError } from "@skein/core/StorageError"
import { PermissionReply } from "@skein/domain/Event"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { cleanLine, cleanText } from "../cleanText.ts"
import type { Ask } from "./Delegation.ts"

/** How much of a command, a diff or a question a form shows, in characters. */
const longest = 8_000

const shown = (text: string): string => {
  const clean = cleanText(text)
  return clean.length > longest ? `${clean.slice(0, longest)}\n[${clean.length - longest} more characters]` : clean
}

/** The command, the diff, or whatever else a question is about. */
const detailOf = (metadata: Readonly<Record<string, unknown>>): string =>
  ["command", "diff", "url", "path"].flatMap((key) => {
    const value = metadata[key]
    return typeof value === "string" && value !== "" ? [`${key}:\n${shown(value)}`] : []
  }).join("\n\n")

const whoOf = ({ path }: Ask): string => path.map((name) => cleanLine(name, 100)).join(" > ")

const permissionForm = (ask: Ask & { readonly type: "permission" }): ElicitRequestFormParams => {
  const { always, metadata, patterns, permission } = ask
  const detail = detailOf(metadata)
  const scope = always.map((pattern) => cleanLine(pattern, 200)).join(", ")
  return {
    mode: "form",
    message: [
      `${whoOf(ask)} asks for permission: ${cleanLine(permission, 100)}`,
      shown(patterns.join("\n")),
      ...(detail === "" ? [] : [detail])
    ].join("\n\n"),
    requestedSchema: {
      type: "object",
      properties: {
        answer: {
          type: "string",
          title: "Answer",
          oneOf: [
            { const: "once", title: "Allow once" },
            ...(always.length === 0 ? [] : [{ const: "always", title: `Allow always in these tasks: ${scope}` }]),
            { const: "reject", title: "Reject" }
          ]
        },
        message: { type: "string", title: "Reason of a rejection, which the agent reads" }
      },
      required: ["answer"]
    }
  }
}

const questionForm = (ask: Ask & { readonly type: "question" }): ElicitRequestFormParams => {
  const choices = ask.options.map(({ description, label }) => ({
    const: label,
    title: cleanLine(description === undefined ? label : `${label}: ${description}`, 300)
  }))
  const choice = ask.multiple
    ? { type: "array" as const, title: "Choices", items: { anyOf: choices } }
    : { type: "string" as const, title: "Choice", oneOf: choices }
  return {
    mode: "form",
    message: `${whoOf(ask)} asks:\n\n${shown(ask.question)}`,
    requestedSchema: {
      type: "object",
      properties: {
        ...(choices.length === 0 ? {} : { choice }),
        words: { type: "string", title: choices.length === 0 ? "Answer" : "Or other words" }
      }
    }
  }
}

/** The form of a question. */
export const formOf = (ask: Ask): ElicitRequestFormParams =>
  ask.type === "permission" ? permissionForm(ask) : questionForm(ask)

const PermissionAnswer = Schema.Struct({
  answer: PermissionReply,
  message: Schema.optionalWith(Schema.String, { default: () => "" })
})

const QuestionAnswer = Schema.Struct({
  choice: Schema.optionalWith(Schema.Union(Schema.String, Schema.Array(Schema.String)), { default: () => [] }),
  words: Schema.optionalWith(Schema.String, { default: () => "" })
})

const readPermission = Schema.decodeUnknownOption(PermissionAnswer)
const readQuestion = Schema.decodeUnknownOption(QuestionAnswer)

/** What a person answered; a form that was declined, left, or filled in wrongly permits nothing. */
const answerPermission = Effect.fnUntraced(
  function*({ id }: Ask & { readonly type: "permission" }, result: ElicitResult) {
    const permission = yield* Permission
    const read = result.action === "accept" ? readPermission(result.content) : undefined
    const { answer, message } = read?._tag === "Some" ? read.value : { answer: "reject" as const, message: "" }
    yield* permission.reply(id, answer, message.trim() === "" ? {} : { message: message.trim() })
  }
)

const answerQuestion = Effect.fnUntraced(function*({ id }: Ask & { readonly type: "question" }, result: ElicitResult) {
  const question = yield* Question
  const read = result.action === "accept" ? readQuestion(result.content) : undefined
  const { choice, words } = read?._tag === "Some" ? read.value : { choice: [], words: "" }
  const [first, ...others] = [...(typeof choice === "string" ? [choice] : choice), words.trim()].filter((each) =>
    each !== ""
  )
  yield* first === undefined ? question.dismiss(id) : question.reply(id, [first, ...others])
})

const isResult = (value: unknown): value is ElicitResult => isSpecType.ElicitResult(value)

/** Answers a question with what a client sent, which may be anything. Somebody else may have answered it meanwhile. */
export const answer = (ask: Ask, sent: unknown): Effect.Effect<void, never, Permission | Question> => {
  const result: ElicitResult = isResult(sent) ? sent : { action: "cancel" }
  const answered: Effect.Effect<void, StorageError, Permission | Question> = ask.type === "permission"
    ? Effect.catchTag(answerPermission(ask, result), "PermissionNotFound", () => Effect.void)
    : Effect.catchTag(answerQuestion(ask, result), "QuestionNotFound", () => Effect.void)
  return Effect.catchAll(answered, (error) => Effect.logError("An answer could not be stored", error.message))
}
