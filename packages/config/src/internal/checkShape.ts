/** Validates a document against a schema, and reports each fault at its place in plain words. */
import { nearest } from "@skein/domain/Lookup"
import * as Option from "effect/Option"
import type { ParseIssue } from "effect/ParseResult"
import * as AST from "effect/SchemaAST"
import { type Fault, type Located, type LocatedObject, plain } from "./located.ts"

/** The faults of a value, in the order of the file. */
export const checkShape = (
  ast: AST.AST,
  node: Located,
  path: ReadonlyArray<string> = []
): ReadonlyArray<Fault> => {
  switch (ast._tag) {
    case "Refinement": {
      const faults = checkShape(ast.from, node, path)
      if (faults.length > 0 || (node.kind === "string" && node.open === true)) return faults
      const issue = ast.filter(plain(node), AST.defaultParseOption, ast)
      return Option.isNone(issue) ? [] : [fault(ast, node, path, issue.value)]
    }
    case "TypeLiteral":
      return node.kind === "object" ? checkObject(ast, node, path) : [fault(ast, node, path)]
    case "TupleType": {
      const rest = ast.rest[0]
      if (node.kind !== "array" || rest === undefined) return [fault(ast, node, path)]
      return node.items.flatMap((item, index) => checkShape(rest.type, item, [...path, String(index)]))
    }
    case "Union": {
      const members = ast.types.filter((member) => fits(member, node))
      const found = members.map((member) => checkShape(member, node, path))
      if (found.some((faults) => faults.length === 0)) return []
      // If one member of the union matches in kind, its own faults say more than a list of all members.
      return found.length === 1 && found[0] !== undefined ? found[0] : [fault(ast, node, path)]
    }
    case "Suspend":
      return checkShape(ast.f(), node, path)
    case "Transformation":
      return checkShape(ast.from, node, path)
    default:
      return fits(ast, node) ? [] : [fault(ast, node, path)]
  }
}

const checkObject = (ast: AST.TypeLiteral, node: LocatedObject, path: ReadonlyArray<string>): ReadonlyArray<Fault> => {
  const names = ast.propertySignatures.map(({ name }) => String(name))
  const faults = node.entries.flatMap(({ at, key, value }): ReadonlyArray<Fault> => {
    const inner = [...path, key]
    const property = ast.propertySignatures.find(({ name }) => name === key)
    if (property !== undefined) return checkShape(property.type, value, inner)
    const index = ast.indexSignatures[0]
    if (index === undefined) return [unknownKey(key, names, path, at)]
    const named = checkShape(index.parameter, { kind: "string", at, value: key }, [`a key in ${subject(path)}`])
    return [...named.map((each) => ({ ...each, key: path.join(".") })), ...checkShape(index.type, value, inner)]
  })
  const present = new Set(node.entries.map(({ key }) => key))
  const missing = ast.propertySignatures.filter(({ isOptional, name }) => !isOptional && !present.has(String(name)))
  return missing.length === 0
    ? faults
    : [...faults, {
      at: node.at,
      key: path.join("."),
      message: `${subject(path)} lacks ${list(missing.map(({ name }) => `"${String(name)}"`), "and")}`
    }]
}

const unknownKey = (
  key: string,
  names: ReadonlyArray<string>,
  path: ReadonlyArray<string>,
  at: Fault["at"]
): Fault => {
  const meant = nearest(key, names)
  const where = path.length === 0 ? "" : ` in ${path.join(".")}`
  return {
    at,
    key: [...path, key].join("."),
    message: `unknown key ${JSON.stringify(key)}${where}; ${
      meant === undefined ? `known keys: ${names.join(", ")}` : `did you mean "${meant}"?`
    }`
  }
}

const fits = (ast: AST.AST, node: Located): boolean => {
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return fits(ast.from, node)
    case "Suspend":
      return fits(ast.f(), node)
    case "StringKeyword":
      return node.kind === "string"
    case "NumberKeyword":
      return node.kind === "number"
    case "BooleanKeyword":
      return node.kind === "boolean"
    case "TypeLiteral":
      return node.kind === "object"
    case "TupleType":
      return node.kind === "array"
    case "Literal":
      return node.kind !== "object" && node.kind !== "array" && (isOpen(node) || node.value === ast.literal)
    case "UnknownKeyword":
    case "AnyKeyword":
      return true
    case "Union":
      return ast.types.some((member) => fits(member, node))
    default:
      return false
  }
}

const isOpen = (node: Located): boolean => node.kind === "string" && node.open === true

const fault = (ast: AST.AST, node: Located, path: ReadonlyArray<string>, issue?: ParseIssue): Fault => {
  const allowed = allows(ast, issue)
  const meant = ast._tag === "Union" && node.kind === "string" && node.raw === undefined
    ? nearest(node.value, literals(ast))
    : undefined
  return {
    at: node.at,
    key: path.join("."),
    message: `${subject(path)} must be ${list(allowed, "or")}, found ${found(node)}${
      meant === undefined ? "" : `; did you mean "${meant}"?`
    }`
  }
}

const literals = (ast: AST.AST): ReadonlyArray<string> =>
  ast._tag === "Union" ? ast.types.flatMap(literals) : ast._tag === "Literal" ? [String(ast.literal)] : []

const subject = (path: ReadonlyArray<string>): string => path.length === 0 ? "the config" : path.join(".")

const list = (items: ReadonlyArray<string>, word: "and" | "or"): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} ${word} ${items.at(-1)}`

const found = (node: Located): string => {
  switch (node.kind) {
    case "object":
      return "an object"
    case "array":
      return "a list"
    case "string":
      // A substituted value may be a secret, so the file's own text is shown.
      return node.raw === undefined ? quote(node.value) : `the value of ${quote(node.raw)}`
    default:
      return String(node.value)
  }
}

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** The expected values of a schema, in words. */
const described = (ast: AST.AST): string | undefined =>
  // Effect's own description of a pattern is for programmers.
  Option.getOrUndefined(Option.filter(AST.getDescriptionAnnotation(ast), (text) => !text.startsWith("a string")))

const allows = (ast: AST.AST, issue?: ParseIssue): ReadonlyArray<string> => {
  const message = issue === undefined ? Option.none() : AST.getMessageAnnotation(ast)
  if (Option.isSome(message) && issue !== undefined) {
    const said = message.value(issue)
    if (typeof said === "string") return [said]
  }
  switch (ast._tag) {
    case "Refinement":
      return issue === undefined
        ? ast.from._tag === "StringKeyword" ? [described(ast) ?? "a string"] : allows(ast.from)
        : [Option.getOrElse(AST.getDescriptionAnnotation(ast), () => String(ast))]
    case "StringKeyword":
      return ["a string"]
    case "NumberKeyword":
      return ["a number"]
    case "BooleanKeyword":
      return ["true or false"]
    case "Literal":
      return [JSON.stringify(ast.literal)]
    case "TypeLiteral":
      return [described(ast) ?? "an object"]
    case "TupleType":
      return [ast.rest[0] === undefined ? "a list" : `a list (each ${list(allows(ast.rest[0].type), "or")})`]
    case "UndefinedKeyword":
      return []
    case "Suspend":
      return allows(ast.f())
    case "Union": {
      const text = described(ast)
      return text === undefined ? ast.types.flatMap((type) => allows(type)) : [text]
    }
    case "Transformation":
      return allows(ast.from)
    default:
      return [String(ast)]
  }
}
