// @ts-check
// Reads what a source file says of its own exports: the comments above the entries of a table, and above classes.
import { readFileSync } from "node:fs"
import { parseSync } from "oxc-parser"

/** @typedef {{ readonly name: string, readonly doc: string, readonly value: string }} Entry */

/** @param {string} file */
const parse = (file) => {
  const code = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, code)
  /** The comment that ends right before a place. @param {number} start */
  const docBefore = (start) => {
    const comment = comments.findLast(({ end }) => end <= start && code.slice(end, start).trim() === "")
    return comment?.value.startsWith("*") === true
      ? comment.value.slice(1).replaceAll(/\s*\n\s*\*?\s*/g, " ").trim()
      : ""
  }
  const exported = program.body.flatMap((node) =>
    node.type === "ExportNamedDeclaration" && node.declaration !== null ? [{ node, declaration: node.declaration }] : []
  )
  return { code, docBefore, exported }
}

/**
 * The entries of an exported object with their comments.
 * @param {string} file @param {string} name
 * @returns {ReadonlyArray<Entry>}
 */
export const docsOf = (file, name) => {
  const { code, docBefore, exported } = parse(file)
  return exported.flatMap(({ declaration }) =>
    declaration.type === "VariableDeclaration" ? declaration.declarations : []
  ).flatMap(({ id, init }) => {
    const value = init?.type === "TSAsExpression" ? init.expression : init
    if (id.type !== "Identifier" || id.name !== name || value?.type !== "ObjectExpression") return []
    return value.properties.flatMap((property) => {
      if (property.type !== "Property") return []
      const key = property.key.type === "Literal"
        ? String(property.key.value)
        : code.slice(property.key.start, property.key.end)
      return [{
        name: key,
        doc: docBefore(property.start),
        value: `\`${code.slice(property.value.start, property.value.end)}\``
      }]
    })
  })
}

/**
 * The tagged errors of a file with their comments.
 * @param {string} file
 * @returns {ReadonlyArray<Omit<Entry, "value">>}
 */
export const errorsOf = (file) => {
  const { code, docBefore, exported } = parse(file)
  return exported.flatMap(({ declaration, node }) =>
    declaration.type === "ClassDeclaration" && declaration.superClass != null && declaration.id != null &&
      code.slice(declaration.superClass.start, declaration.superClass.end).includes("Schema.TaggedError<")
      ? [{ name: declaration.id.name, doc: docBefore(node.start) }]
      : []
  )
}
