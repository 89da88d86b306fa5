/** Reads a YAML document into the same tree of located values as JSON. Loaded only for front matter. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from "yaml"
import { below, type Fault, type Located, type LocatedEntry, type Place } from "./located.ts"

/**
 * Reads a document below this many lines of its file; an empty one is an empty object. Throws if it is nested too
 * deeply.
 */
export const parseYaml = (
  text: string,
  above: number
): { readonly tree: Located; readonly faults: ReadonlyArray<Fault> } => {
  const lines = new LineCounter()
  const place = (offset: number): Place => {
    const { col, line } = lines.linePos(offset)
    return { line: Math.max(line, 1) + above, column: Math.max(col, 1) }
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  // After the first error, the parser only guesses.
  const error = document.errors[0] ?? document.warnings[0]
  const faults: Array<Fault> = []
  if (error !== undefined) {
    const at = place(error.pos[0])
    const hint = error.code === "BAD_ALIAS" ? "; a value or key that begins with * needs quotes" : ""
    return {
      tree: { kind: "null", at, value: null },
      faults: [{ at, message: `invalid YAML: ${error.message}${hint}` }]
    }
  }
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) {
    return { tree: { kind: "object", at: place(0), entries: [] }, faults }
  }
  return { tree: locate(root, place, faults, 0), faults }
}

const locate = (
  node: ParsedNode | null,
  place: (offset: number) => Place,
  faults: Array<Fault>,
  level: number
): Located => {
  const at = place(node === null ? 0 : node.range[0])
  if (isMap(node)) {
    const seen = new Map<string, Place>()
    const entries = node.items.flatMap(({ key, value }): ReadonlyArray<LocatedEntry> => {
      const keyAt = place(key.range[0])
      if (!isScalar(key)) {
        faults.push({ at: keyAt, message: "a key must be a text; put it in quotes" })
        return []
      }
      const name = key.source ?? String(key.value)
      const before = seen.get(name)
      if (before === undefined) seen.set(name, keyAt)
      else faults.push({ at: keyAt, message: `the key "${name}" is also in line ${before.line}; keep one` })
      // A key without a value is null, at the place of the key.
      return [{
        key: name,
        at: keyAt,
        value: value === null ? nothing(keyAt) : locate(value, place, faults, below(level))
      }]
    })
    return { kind: "object", at, entries }
  }
  if (isSeq(node)) {
    return {
      kind: "array",
      at,
      items: node.items.map((item) => locate(item as ParsedNode, place, faults, below(level)))
    }
  }
  if (isAlias(node)) {
    // A few of them can expand beyond the available memory.
    faults.push({
      at,
      message: "references to other values (*name) are not read; write the value, or put it in quotes"
    })
    return nothing(at)
  }
  const value: unknown = isScalar(node) ? node.value : null
  switch (typeof value) {
    case "string":
      return { kind: "string", at, value }
    case "number":
      if (!Number.isFinite(value)) faults.push({ at, message: "this number is too large" })
      return { kind: "number", at, value }
    case "boolean":
      return { kind: "boolean", at, value }
    default:
      return nothing(at)
  }
}

const nothing = (at: Place): Located => ({ kind: "null", at, value: null })
