/**
 * Converts texts to the numbers that they denote, such as the time `30m`, so that all later comparisons use numbers.
 */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type { Located, LocatedText } from "./located.ts"

/** The same document, with numbers where its schema decodes text to a number. The document was validated before. */
export const decodeTexts = (ast: AST.AST, node: Located): Located => {
  switch (ast._tag) {
    case "Refinement":
      return decodeTexts(ast.from, node)
    case "Suspend":
      return decodeTexts(ast.f(), node)
    case "Transformation":
      return node.kind === "string" && node.open !== true ? decodeText(ast, node) : decodeTexts(ast.from, node)
    case "Union":
      return ast.types.reduce((found, type) => decodeTexts(type, found), node)
    case "TupleType": {
      const [rest] = ast.rest
      return node.kind === "array" && rest !== undefined
        ? { ...node, items: node.items.map((item) => decodeTexts(rest.type, item)) }
        : node
    }
    case "TypeLiteral": {
      if (node.kind !== "object") return node
      const typeOf = (key: string) =>
        ast.propertySignatures.find(({ name }) => name === key)?.type ?? ast.indexSignatures[0]?.type
      return {
        ...node,
        entries: node.entries.map((entry) => {
          const type = typeOf(entry.key)
          return type === undefined ? entry : { ...entry, value: decodeTexts(type, entry.value) }
        })
      }
    }
    default:
      return node
  }
}

const decodeText = (ast: AST.AST, { at, raw, value }: LocatedText): Located => {
  const decoded: unknown = Schema.decodeUnknownSync(Schema.make(ast))(value)
  return typeof decoded === "number"
    ? { kind: "number", at, value: decoded, ...(raw === undefined ? {} : { raw }) }
    : { kind: "string", at, value, ...(raw === undefined ? {} : { raw }) }
}
