/** A JSON document in which every value has its place. Texts such as the time `30m` become the numbers that they denote. */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"

/** A place in a file, counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** Where a file begins. */
export const start: Place = { line: 1, column: 1 }

/** A string; `raw` is its text in the file if a `{env:…}` or `{file:…}` in it was substituted. */
export interface LocatedText {
  readonly kind: "string"
  readonly at: Place
  readonly value: string
  readonly raw?: string
  /** Not substituted, because the value will be ignored: its form cannot be checked. */
  readonly open?: true
}

/** A key of an object, at the place of the key. */
export interface LocatedEntry {
  readonly key: string
  readonly at: Place
  readonly value: Located
}

/** An object, with its keys in the written order. */
export interface LocatedObject {
  readonly kind: "object"
  readonly at: Place
  readonly entries: ReadonlyArray<LocatedEntry>
}

/** A list. */
interface LocatedArray {
  readonly kind: "array"
  readonly at: Place
  readonly items: ReadonlyArray<Located>
}

/** A number, `true`, `false`, or `null`; `raw` as in the string that it was decoded from. */
interface LocatedLiteral {
  readonly kind: "number" | "boolean" | "null"
  readonly at: Place
  readonly value: number | boolean | null
  readonly raw?: string
}

/** A value of a document. */
export type Located = LocatedObject | LocatedArray | LocatedText | LocatedLiteral

/** A fault at a place. */
export interface Fault {
  readonly at: Place
  readonly key?: string
  readonly message: string
}

const expectations: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is not a JSON value; strings and keys need double quotes",
  InvalidNumberFormat: "this is not a number",
  PropertyNameExpected: "expected a key in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected a colon",
  CommaExpected: "expected a comma",
  CloseBraceExpected: "expected a closing brace",
  CloseBracketExpected: "expected a closing bracket",
  EndOfFileExpected: "expected nothing after the closing brace",
  UnexpectedEndOfComment: "this comment does not end",
  UnexpectedEndOfString: "this string does not end",
  UnexpectedEndOfNumber: "this number does not end",
  InvalidUnicode: "this \\u escape needs four hexadecimal digits",
  InvalidEscapeCharacter: "there is no such escape",
  InvalidCharacter: "control characters in a string must be escaped"
}

/** The maximum depth of a document, because all readers are recursive. */
const deepest = 100

/** The next level of a document; throws if it is too deep. */
export const below = (level: number): number => {
  if (level === deepest) throw new RangeError(`nested more than ${deepest} levels deep`)
  return level + 1
}

/**
 * Reads a document (JSON with comments and trailing commas); an empty one is an empty object. Throws if it is nested
 * too deeply.
 */
const parseDocument = (
  text: string
): { readonly tree: Located; readonly faults: ReadonlyArray<Fault>; readonly fatal?: Fault } => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  const place = (offset: number): Place => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const error = errors[0]
  if (error !== undefined) {
    // After the first error, the parser only guesses.
    const name = printParseErrorCode(error.error)
    const at = place(error.offset)
    const fatal = { at, message: expectations[name] ?? name }
    return { tree: { kind: "null", at, value: null }, faults: [], fatal }
  }
  const faults: Array<Fault> = []
  if (root === undefined) return { tree: { kind: "object", at: place(0), entries: [] }, faults }
  return { tree: locate(root, place, faults, 0), faults }
}

/** Reads a document of Skein, which must be free of faults. */
export const parseLocated = (text: string): { readonly tree: Located; readonly faults: ReadonlyArray<Fault> } => {
  const { fatal, faults, tree } = parseDocument(text)
  return { tree, faults: fatal === undefined ? faults : [fatal] }
}

/** Reads a document of another tool: the last value of a repeated key wins. */
export const parseLenient = (text: string) => {
  const { fatal, faults, tree } = parseDocument(text)
  return { tree: withoutDoubles(tree), notes: faults, ...(fatal === undefined ? {} : { fatal }) }
}

const withoutDoubles = (node: Located): Located => {
  switch (node.kind) {
    case "array":
      return { ...node, items: node.items.map(withoutDoubles) }
    case "object": {
      const last = new Map(node.entries.map((each) => [each.key, each]))
      return {
        ...node,
        entries: node.entries.flatMap((each) =>
          last.get(each.key) === each ? [{ ...each, value: withoutDoubles(each.value) }] : []
        )
      }
    }
    default:
      return node
  }
}

const locate = (node: Node, place: (offset: number) => Place, faults: Array<Fault>, level: number): Located => {
  const at = place(node.offset)
  switch (node.type) {
    case "object": {
      const seen = new Map<string, Place>()
      const entries = (node.children ?? []).flatMap(({ children }): ReadonlyArray<LocatedEntry> => {
        const [name, value] = children ?? []
        if (name === undefined || value === undefined) return []
        const key = String(name.value)
        const before = seen.get(key)
        const entry = { key, at: place(name.offset), value: locate(value, place, faults, below(level)) }
        if (before === undefined) seen.set(key, entry.at)
        else faults.push({ at: entry.at, message: `the key "${key}" is also in line ${before.line}; keep one` })
        return [entry]
      })
      return { kind: "object", at, entries }
    }
    case "array":
      return {
        kind: "array",
        at,
        items: (node.children ?? []).map((item) => locate(item, place, faults, below(level)))
      }
    case "string":
      return { kind: "string", at, value: String(node.value) }
    case "number":
      if (!Number.isFinite(node.value)) faults.push({ at, message: "this number is too large" })
      return { kind: "number", at, value: Number(node.value) }
    case "boolean":
      return { kind: "boolean", at, value: node.value === true }
    default:
      return { kind: "null", at, value: null }
  }
}

/** The plain JSON value. */
export const plain = (tree: Located): unknown => {
  switch (tree.kind) {
    case "object":
      return Object.fromEntries(tree.entries.map(({ key, value }) => [key, plain(value)]))
    case "array":
      return tree.items.map(plain)
    default:
      return tree.value
  }
}

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
