/** Takes half characters out of what comes from models, tools and users: neither providers nor databases take them. */

const mapValues = (value: object): object => {
  let changed = false
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    const mended = wellFormed(each)
    changed ||= mended !== each
    return [key, mended] as const
  })
  return changed ? Object.fromEntries(entries) : value
}

const mapItems = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const mended = items.map(wellFormed)
  return mended.some((each, i) => each !== items[i]) ? mended : items
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** The same value with every text in it proper Unicode; the very same where it was so already. */
export const wellFormed = <A>(value: A): A => {
  if (typeof value === "string") return value.toWellFormed() as A & string
  if (Array.isArray(value)) return mapItems(value) as A & ReadonlyArray<unknown>
  return isPlain(value) ? mapValues(value) as A & object : value
}
