/** Validates values against a JSON Schema. Loaded only if an agent's definition has one. */
import { type OutputUnit, Validator } from "@cfworker/json-schema"
import type { JsonSchema } from "@skein/domain/JsonSchema"
import * as Either from "effect/Either"
import type { FilterIssue } from "effect/Schema"
import { createContext, Script } from "node:vm"

/**
 * The time limit for a value in milliseconds: the schema's regular expressions and the model's value may not suit each
 * other.
 */
const longest = 250

const inTime = new Script("check()")

/** Runs the check with a time limit, which holds even inside a regular expression. */
const bounded = <A>(check: () => A): Either.Either<A, string> =>
  Either.try({
    try: () => inTime.runInContext(createContext({ check }), { timeout: longest }) as A,
    catch: String
  })

/** Keywords whose errors only repeat an error deeper in the value. */
const outer = new Set(["properties", "items", "prefixItems", "patternProperties", "allOf", "$ref", "false"])

const pathOf = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"))

const issueOf = ({ error, instanceLocation }: OutputUnit): FilterIssue => ({
  path: pathOf(instanceLocation),
  message: error
})

/** Says what is wrong with a value, and where; nothing if it is valid. */
export const checker = (schema: JsonSchema) => {
  // The validator writes marks into its input.
  const validator = new Validator(structuredClone(schema), "2020-12", false)
  return (value: unknown): ReadonlyArray<FilterIssue> => {
    const checked = bounded(() => validator.validate(value))
    if (Either.isLeft(checked)) {
      return [{
        path: [],
        message: `cannot be checked (${checked.left}). Shorter texts take less time, and so do regular expressions ` +
          "in which nothing is repeated that repeats something itself"
      }]
    }
    const { errors } = checked.right
    const inmost = errors.filter(({ keyword }) => !outer.has(keyword))
    return (inmost.length > 0 ? inmost : errors).map(issueOf)
  }
}
