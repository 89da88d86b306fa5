/** Makes texts from models, tools and users fit to store and send: not too long, no half characters, and not nested too deeply. */
import { flattened } from "../Nesting.ts"

/** The beginning of a text, without half a character at its end. */
export const cut = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, "")}…`

/** Copies only what changes: nearly all values are well-formed. */
const mapValues = (value: Readonly<Record<string, unknown>>): object => {
  let changed: Record<string, unknown> | undefined
  for (const key of Object.keys(value)) {
    const repaired = repair(value[key])
    if (repaired !== value[key]) (changed ??= { ...value })[key] = repaired
  }
  return changed ?? value
}

const mapItems = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  items.some((each) => repair(each) !== each) ? items.map(repair) : items

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

// Recursive: `wellFormed` has limited the depth.
const repair = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return mapItems(value)
  return isPlain(value) ? mapValues(value) : value
}

/**
 * The same value with valid Unicode in every text, and nothing nested too deeply; the identical value if nothing
 * changes.
 */
export const wellFormed = <A>(value: A): A => repair(flattened(value)) as A

/** A heading, and below it the first line and as many of the last ones as fit; says how many are left out. */
export const section = (heading: string, lines: ReadonlyArray<string>, characters: number): ReadonlyArray<string> => {
  const [first, ...rest] = lines
  if (first === undefined) return []
  const kept: Array<string> = []
  let left = characters - first.length
  for (const line of rest.toReversed()) {
    left -= line.length + 1
    if (left < 0) break
    kept.unshift(line)
  }
  const omitted = rest.length - kept.length
  return [[`${heading}:`, first, ...(omitted === 0 ? [] : [`- (${omitted} more)`]), ...kept].join("\n")]
}
