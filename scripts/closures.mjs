// @ts-check
// Finds functions that are too long.
import { isNode } from "./syntax.mjs"

/** @typedef {import("./syntax.mjs").Node} Node */

/** The longest a function may be, in lines. One that reads from top to bottom may be long; beyond this it has two jobs. */
export const maximumClosure = 150

const functions = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

/**
 * The functions of more than so many lines that have no other such function in them.
 * @param {unknown} value
 * @param {(node: Node) => number} linesOf
 * @returns {ReadonlyArray<Node>}
 */
export const longFunctions = (value, linesOf) => {
  if (Array.isArray(value)) return value.flatMap((item) => longFunctions(item, linesOf))
  if (!isNode(value)) return []
  const within = longFunctions(Object.values(value), linesOf)
  return within.length === 0 && functions.has(value.type) && linesOf(value) > maximumClosure ? [value] : within
}
