// @ts-check
// Walks the syntax of a source.

/** @typedef {{ readonly type: string, readonly start: number, readonly end: number, readonly [key: string]: unknown }} Node */

/** @param {unknown} value @returns {value is Node} */
export const isNode = (value) => typeof value === "object" && value !== null && "type" in value

/** @param {unknown} value @param {(node: Node) => void} visit */
export const walk = (value, visit) => {
  if (Array.isArray(value)) { for (const item of value) walk(item, visit) }
  else if (isNode(value)) {
    visit(value)
    for (const child of Object.values(value)) walk(child, visit)
  }
}
