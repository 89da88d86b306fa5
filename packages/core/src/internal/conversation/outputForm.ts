/** The schema of an agent's structured output, in the same form as a program's. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { faultOf, type JsonSchema, mapSchemas } from "@skein/domain/JsonSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InvalidAnswer } from "../../Turn.ts"
import { answerPointer } from "./structuredOutput.ts"

type Checker = typeof import("./jsonChecker.ts")

/** The schema as a part of the answer tool's arguments: references to its top lead there. */
const asAnswer = ({ $id: _id, $schema: _schema, ...schema }: JsonSchema): JsonSchema =>
  mapSchemas(schema, (each) => {
    const { $ref } = each
    return typeof $ref === "string"
      ? { ...each, $ref: `${answerPointer}${$ref.replace(/^#\/?$/, "#").slice(1)}` }
      : each
  })

const compile = (schema: JsonSchema, { checker }: Checker): Schema.Schema<unknown> =>
  Schema.Unknown.pipe(Schema.filter(checker(schema), { jsonSchema: asAnswer(schema) }))

const compiled = new WeakMap<JsonSchema, Schema.Schema<unknown>>()

/** The schema of an agent's answers; undefined if its definition names none. */
export const outputForm = Effect.fnUntraced(function*({ name, output }: AgentInfo) {
  if (output === undefined) return undefined
  const known = compiled.get(output)
  if (known !== undefined) return known
  const fault = faultOf(output)
  if (fault !== undefined) {
    return yield* new InvalidAnswer({ message: `The output of the agent ${name} is no form: ${fault}.`, last: "" })
  }
  // Most programs have no such agent, and need no validator.
  const made = compile(output, yield* Effect.promise(() => import("./jsonChecker.ts")))
  compiled.set(output, made)
  return made
})
