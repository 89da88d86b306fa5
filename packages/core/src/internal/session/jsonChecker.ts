/** Holds values against a JSON Schema. Loaded only where an agent's definition has one. */
import { type OutputUnit, Validator } from "@cfworker/json-schema"
import type { JsonSchema } from "@skein/domain/JsonSchema"
import type { FilterIssue } from "effect/Schema"

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
    const { errors } = validator.validate(value)
    const inmost = errors.filter(({ keyword }) => !outer.has(keyword))
    return (inmost.length > 0 ? inmost : errors).map(issueOf)
  }
}
