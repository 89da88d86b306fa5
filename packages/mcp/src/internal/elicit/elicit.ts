/** Asks a person what a server wants to know, as agents ask their questions. */
import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client"
import type { Unanswered } from "@skein/core/Answerer"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { cleanLine, cleanText } from "../cleanText.ts"
import { type Asked, type Field, fieldsOf } from "./field.ts"

/** What a server asks. */
export type Elicitation = ElicitRequest["params"]

/** Asks a person one question. */
export type Ask = (asked: Asked) => Effect.Effect<ReadonlyArray<string>, Unanswered | StorageError>

/** How much a server may say, in characters. */
const longest = 2_000

/** How often one field is asked for. */
const tries = 3

const agree = "Agree"
const opened = "I have opened it"
const decline = "Decline"

const declined: ElicitResult = { action: "decline" }
const cancelled: ElicitResult = { action: "cancel" }

/** Whether a person may be asked to open a page: one that nobody on the way can change. */
const isSafe = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hostname, password, protocol, username } = new URL(text)
  const isHere = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return username === "" && password === "" && (protocol === "https:" || (protocol === "http:" && isHere))
}

/** Asks for a field until the answer can be used, or was of no use often enough. */
const askFor = (
  heading: string,
  field: Field,
  ask: Ask,
  left = tries,
  fault?: string
): Effect.Effect<Either.Either<unknown, string>, Unanswered | StorageError> => {
  const { asked, read } = field
  const again = fault === undefined ? "" : `\nThat answer cannot be used: ${fault}.`
  return Effect.flatMap(ask({ ...asked, question: `${heading}\n${asked.question}${again}` }), (answers) => {
    const value = read(answers)
    return Either.isRight(value) || left <= 1
      ? Effect.succeed(value)
      : askFor(heading, field, ask, left - 1, value.left)
  })
}

const askForm = Effect.fnUntraced(function*(heading: string, form: unknown, ask: Ask) {
  const fields = fieldsOf(form)
  if (Either.isLeft(fields)) return declined
  if (fields.right.length === 0) {
    const answers = yield* ask({
      question: heading,
      options: [{ label: agree }, { label: decline }],
      multiple: false
    })
    return answers.includes(agree) ? { action: "accept", content: {} } satisfies ElicitResult : declined
  }
  const content: NonNullable<ElicitResult["content"]> = {}
  for (const field of fields.right) {
    const value = yield* askFor(heading, field, ask)
    if (Either.isLeft(value)) return cancelled
    // A field yields what the protocol allows in a form, or nothing.
    if (value.right !== undefined) content[field.key] = value.right as string
  }
  return { action: "accept", content } satisfies ElicitResult
})

const askToOpen = Effect.fnUntraced(function*(heading: string, url: string, ask: Ask) {
  if (!isSafe(url)) return declined
  const { host } = new URL(url)
  const answers = yield* ask({
    question: `${heading}\nIt wants you to open a page of ${host}:\n${cleanLine(new URL(url).href, longest)}`,
    options: [{ label: opened }, { label: decline }],
    multiple: false
  })
  return answers.includes(opened) ? { action: "accept" } satisfies ElicitResult : declined
})

/** Asks, and returns the answer for the server. If nobody can be asked, the answer is that they decline. */
export const elicit = (server: string, params: Elicitation, ask: Ask): Effect.Effect<ElicitResult> => {
  const message = cleanText(params.message).trim()
  const heading = `The MCP server ${server} asks: ${
    message.length > longest ? `${message.slice(0, longest)}…` : message
  }`
  const asking: Effect.Effect<ElicitResult, Unanswered | StorageError> = params.mode === "url"
    ? askToOpen(heading, params.url, ask)
    : askForm(heading, params.requestedSchema, ask)
  return Effect.catchTags(asking, {
    Unanswered: ({ reason }) => Effect.succeed(reason === "expired" ? cancelled : declined),
    StorageError: () => Effect.succeed(cancelled)
  })
}
