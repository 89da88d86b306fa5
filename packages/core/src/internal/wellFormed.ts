/** Makes what comes from models, tools and users fit to be stored and sent: no half characters, and not nested too deeply. */
import { flattened } from "../Nesting.ts"

const mapValues = (value: object): object => {
  let changed = false
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    const mended = mend(each)
    changed ||= mended !== each
    return [key, mended] as const
  })
  return changed ? Object.fromEntries(entries) : value
}

const mapItems = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const mended = items.map(mend)
  return mended.some((each, i) => each !== items[i]) ? mended : items
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

// Recursive: `wellFormed` has bounded the levels.
const mend = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return mapItems(value)
  return isPlain(value) ? mapValues(value) : value
}

/**
 * The same value with every text in it proper Unicode, and nothing in it nested too deeply; the very same where it was so
 * already.
 */
export const wellFormed = <A>(value: A): A => mend(flattened(value)) as A
