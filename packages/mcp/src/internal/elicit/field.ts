/** One field of a form that a server asks for: what a person is asked, and what their answer means. */
import type { QuestionRequest } from "@skein/domain/Event"
import * as Either from "effect/Either"
import { cleanLine, cleanText } from "../cleanText.ts"

/** What a person is asked. */
export type Asked = Pick<QuestionRequest, "question" | "options" | "multiple">

/** A field. */
export interface Field {
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
