/** Decides quickly whether a schema decodes a value to itself. */
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"

type Check = (value: unknown) => boolean

const unsure: Check = () => false

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fields = (ast: AST.TypeLiteral): Check => {
  if (ast.indexSignatures.some((index) => !AST.isStringKeyword(index.parameter))) return unsure
  const values = ast.indexSignatures.map((index) => checkOf(index.type))
  const properties = ast.propertySignatures.map((property) => ({
    name: property.name as string,
    optional: property.isOptional,
    check: checkOf(property.type),
    // The literal that distinguishes the members of a union rejects most of them immediately.
    rank: AST.isLiteral(property.type) ? 0 : 1
  }))
  properties.sort((a, b) => a.rank - b.rank)
  return (value) => {
    if (!isRecord(value)) return false
    for (const { check, name, optional } of properties) {
      const field = value[name]
      if (field === undefined ? !optional : !check(field)) return false
    }
    return values.every((check) => Object.values(value).every(check))
  }
}

/**
 * A predicate that is true only for values that the schema decodes to themselves. If it is false, the value may still
 * be valid: only the decoder knows. For a schema with transformations it is always false. It exists because decoding
 * with `effect/Schema` costs about 45 µs for each part, more than reading the row and parsing its JSON together: 10,000
 * messages would take two seconds to open.
 */
export const checkOf = (ast: AST.AST): Check => {
  switch (ast._tag) {
    case "StringKeyword":
      return (value) => typeof value === "string"
    case "NumberKeyword":
      return (value) => typeof value === "number"
    case "BooleanKeyword":
      return (value) => typeof value === "boolean"
    case "UnknownKeyword":
      return () => true
    case "Literal":
      return (value) => value === ast.literal
    case "Refinement": {
      const from = checkOf(ast.from)
      return (value) => from(value) && Option.isNone(ast.filter(value, AST.defaultParseOption, ast))
    }
    case "Union": {
      const members = ast.types.map(checkOf)
      return (value) => members.some((member) => member(value))
    }
    case "TupleType": {
      const [rest] = ast.rest
      if (ast.elements.length > 0 || ast.rest.length !== 1 || rest === undefined) return unsure
      const item = checkOf(rest.type)
      return (value) => Array.isArray(value) && value.every(item)
    }
    case "TypeLiteral":
      return fields(ast)
    default:
      return unsure
  }
}
