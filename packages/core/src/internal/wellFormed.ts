/** Makes what comes from models, tools and users fit to be stored and sent: no half characters, and not nested too deeply. */
import { flattened } from "../Nesting.ts"

const mapValues = (value: object): object => {
  let changed = false
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    const repaired = repair(each)
    changed ||= repaired !== each
    return [key, repaired] as const
  })
  return changed ? Object.fromEntries(entries) : value
}

const mapItems = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const repaired = items.map(repair)
  return repaired.some((each, i) => each !== items[i]) ? repaired : items
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

// Recursive: `wellFormed` has bounded the levels.
const repair = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return mapItems(value)
  return isPlain(value) ? mapValues(value) : value
}

/**
 * The same value with every text in it proper Unicode, and nothing in it nested too deeply; the very same where it was so
 * already.
 */
export const wellFormed = <A>(value: A): A => repair(flattened(value)) as A
