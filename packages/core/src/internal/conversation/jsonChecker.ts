/** Holds values against a JSON Schema. Loaded only where an agent's definition has one. */
import { type OutputUnit, Validator } from "@cfworker/json-schema"
import type { JsonSchema } from "@skein/domain/JsonSchema"
import * as Either from "effect/Either"
import type { FilterIssue } from "effect/Schema"
import { createContext, Script } from "node:vm"

/** Milliseconds that a value may take: the schema's regular expressions and the model's value may not fit together. */
const longest = 250

const inTime = new Script("check()")

/** Does it, and stops it when it takes too long, also inside of a regular expression. */
const bounded = <A>(check: () => A): Either.Either<A, string> =>
  Either.try({
    try: () => inTime.runInContext(createContext({ check }), { timeout: longest }) as A,
    catch: String
  })

/** Keywords that only say that something deeper is wrong, which then is told itself. */
const outer = new Set(["properties", "items", "prefixItems", "patternProperties", "allOf", "$ref", "false"])

const pathOf = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"))

const issueOf = ({ error, instanceLocation }: OutputUnit): FilterIssue => ({
  path: pathOf(instanceLocation),
  message: error
})

/** Says what is wrong with a value, and where; nothing where it is right. */
export const checker = (schema: JsonSchema) => {
  // It writes marks into what it is given.
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
