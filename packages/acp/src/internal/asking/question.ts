/** Asks a client what an agent wants to know: as a form where it has forms, else as a choice. */
import type {
  CreateElicitationRequest,
  ElicitationPropertySchema,
  RequestPermissionRequest
} from "@agentclientprotocol/sdk/unstable"
import type { QuestionRequest } from "@skein/domain/Event"
import { visibleLine } from "@skein/view/Visible"
import { questionText } from "../encode/askTitle.ts"
import { textContent } from "../encode/callUpdate.ts"
import type { FormAnswer, PermissionAnswer } from "./answer.ts"

/** The answers of a person; undefined where there is none. */
export type Answers = readonly [string, ...ReadonlyArray<string>] | undefined

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
