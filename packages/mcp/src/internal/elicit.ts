/** Asks people what servers ask: decides which call a question belongs to, and turns its form into questions. */
import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client"
import type { Unanswered } from "@skein/core/Answerer"
import type { StorageError } from "@skein/core/StorageError"
import type { QuestionRequest } from "@skein/domain/Event"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { AsyncLocalStorage } from "node:async_hooks"
import { cleanLine, cleanText } from "./content.ts"

/** What a person is asked. */
type Asked = Pick<QuestionRequest, "question" | "options" | "multiple">

/** A field. */
interface Field {
  readonly key: string
  readonly asked: Asked
  /** What an answer means, `undefined` if it leaves out a field without a default; or why it means nothing. */
  readonly read: (answers: ReadonlyArray<string>) => Either.Either<unknown, string>
}

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A person leaves an optional field out with this. */
const leaveOut = "Leave out"

/** More options than this are named in the question, and typed. */
const mostOptions = 8

interface Choice {
  readonly label: string
  readonly value: unknown
}

const textOf = (value: unknown, most: number): string | undefined =>
  typeof value === "string" && cleanLine(value, most) !== "" ? cleanLine(value, most) : undefined

/** The choices of a schema in any of the forms that the protocol has had for them. */
const choicesOf = (schema: Schema): ReadonlyArray<Choice> => {
  if (schema["type"] === "boolean") return [{ label: "Yes", value: true }, { label: "No", value: false }]
  const values = schema["enum"]
  if (Array.isArray(values)) {
    const names: unknown = schema["enumNames"]
    return values.map((value: unknown, at) => ({
      value,
      label: (Array.isArray(names) ? textOf(names[at], 100) : undefined) ?? cleanLine(String(value), 100)
    }))
  }
  const each = schema["oneOf"] ?? schema["anyOf"]
  if (!Array.isArray(each)) return []
  return each.filter(isSchema).map((one) => ({
    value: one["const"],
    label: textOf(one["title"], 100) ?? cleanLine(String(one["const"]), 100)
  }))
}

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text))
}

const readText = (schema: Schema, text: string): Either.Either<unknown, string> => {
  const { format, maxLength, minLength } = schema
  const length = [...text].length
  if (typeof minLength === "number" && length < minLength) return Either.left(`it needs ${minLength} characters`)
  if (typeof maxLength === "number" && length > maxLength) return Either.left(`it may have ${maxLength} characters`)
  if (typeof format === "string" && formats[format]?.(text) === false) {
    return Either.left(`it must be of the form ${format}`)
  }
  return Either.right(text)
}

const readNumber = (schema: Schema, text: string): Either.Either<unknown, string> => {
  const value = text.trim() === "" ? Number.NaN : Number(text)
  const { maximum, minimum, type } = schema
  if (!Number.isFinite(value)) return Either.left("it must be a number")
  if (type === "integer" && !Number.isSafeInteger(value)) return Either.left("it must be a whole number")
  if (typeof minimum === "number" && value < minimum) return Either.left(`it must be ${minimum} or more`)
  if (typeof maximum === "number" && value > maximum) return Either.left(`it must be ${maximum} or less`)
  return Either.right(value)
}

const chosen = (choices: ReadonlyArray<Choice>, answer: string): Either.Either<unknown, string> => {
  const word = answer.trim().toLowerCase()
  const found = choices.find(({ label, value }) => label.toLowerCase() === word || String(value).toLowerCase() === word)
  return found === undefined
    ? Either.left(`it must be one of ${choices.map(({ label }) => label).join(", ")}`)
    : Either.right(found.value)
}

const readList = (schema: Schema, choices: ReadonlyArray<Choice>, answers: ReadonlyArray<string>) =>
  Either.flatMap(
    Either.all(answers.flatMap((answer) => answer.split(",")).map((answer) => chosen(choices, answer))),
    (values): Either.Either<unknown, string> => {
      const { maxItems, minItems } = schema
      if (typeof minItems === "number" && values.length < minItems) return Either.left(`choose ${minItems} or more`)
      if (typeof maxItems === "number" && values.length > maxItems) return Either.left(`choose ${maxItems} or fewer`)
      return Either.right(values)
    }
  )

/** Whether the protocol allows it in a form: a server may name any default. */
const isValue = (value: unknown): boolean =>
  ["string", "number", "boolean"].includes(typeof value)
  || (Array.isArray(value) && value.every((each) => typeof each === "string"))

/** The field of a property; undefined where a person cannot be asked for it. */
const fieldOf = (key: string, schema: unknown, isRequired: boolean): Field | undefined => {
  if (!isSchema(schema)) return undefined
  const { description, items, title, type } = schema
  const isList = type === "array"
  if (!["string", "number", "integer", "boolean", "array"].includes(String(type))) return undefined
  const choices = choicesOf(isList && isSchema(items) ? items : schema)
  if (isList && choices.length === 0) return undefined
  const typed = choices.length > mostOptions ? `One of: ${choices.map(({ label }) => label).join(", ")}` : undefined
  const preset = schema["default"]
  const without = preset === undefined
    ? {}
    : { description: `The server takes ${cleanLine(JSON.stringify(preset), 100)}` }
  const options = [
    ...(typed === undefined ? choices.map(({ label }) => ({ label })) : []),
    ...(isRequired ? [] : [{ label: leaveOut, ...without }])
  ]
  const lines = [textOf(title, 200) ?? cleanLine(key, 200), textOf(description, 1_000), typed]
  const readOne = (answer: string) =>
    choices.length > 0
      ? chosen(choices, answer)
      : type === "string"
      ? readText(schema, cleanText(answer))
      : readNumber(schema, answer)
  return {
    key,
    asked: {
      question: lines.filter((line) => line !== undefined).join("\n"),
      options,
      multiple: isList && typed === undefined
    },
    read: (answers) =>
      !isRequired && answers.includes(leaveOut)
        ? Either.right(isValue(preset) ? preset : undefined)
        : isList
        ? readList(schema, choices, answers)
        : readOne(answers.join(" "))
  }
}

/** Makes the fields of a form; or why a person cannot be asked for it. */
export const fieldsOf = (form: unknown): Either.Either<ReadonlyArray<Field>, string> => {
  if (!isSchema(form) || !isSchema(form["properties"] ?? {})) return Either.left("its form is not an object")
  const required: unknown = form["required"]
  const entries = Object.entries(form["properties"] ?? {})
  if (entries.length > 20) return Either.left("its form has more than 20 fields")
  const fields = entries.map(([key, schema]) => fieldOf(key, schema, Array.isArray(required) && required.includes(key)))
  const known = fields.filter((field) => field !== undefined)
  return known.length < fields.length
    ? Either.left("its form has fields that cannot be asked for")
    : Either.right(known)
}

/** What a server asks. */
type Elicitation = ElicitRequest["params"]

/** Asks a person one question. */
type Ask = (asked: Asked) => Effect.Effect<ReadonlyArray<string>, Unanswered | StorageError>

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

/** Asks, and returns the answer for the server. If Skein cannot ask anyone, the answer is that they decline. */
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

/** A call that runs, and through which the server can ask. */
export interface Asker {
  /** The tree of sessions that it belongs to. */
  readonly rootID: string
  readonly ask: (params: Elicitation) => Promise<ElicitResult>
}

/** The calls of a server that run. */
export interface Askers {
  /** Adds a call; what it returns takes it out again. */
  readonly add: (asker: Asker) => () => void
  /** Makes a call: a question that comes with its answer is known to be its own. */
  readonly within: <A>(asker: Asker, call: () => A) => A
  /**
   * Asks through the call that the question belongs to. A question on a connection of all calls does not name its own: it
   * goes to the newest one. If calls of several trees run, it is not known who is meant, and nobody is asked.
   */
  readonly elicit: (params: Elicitation) => Promise<ElicitResult>
}

/** Makes it. */
export const makeAskers = (): Askers => {
  const running = new Set<Asker>()
  const current = new AsyncLocalStorage<Asker>()
  return {
    add: (asker) => {
      running.add(asker)
      return () => void running.delete(asker)
    },
    within: (asker, call) => current.run(asker, call),
    elicit: (params) => {
      const own = current.getStore()
      if (own !== undefined && running.has(own)) return own.ask(params)
      const all = [...running]
      const newest = all.at(-1)
      return newest === undefined || all.some(({ rootID }) => rootID !== newest.rootID)
        ? Promise.resolve({ action: "decline" })
        : newest.ask(params)
    }
  }
}
