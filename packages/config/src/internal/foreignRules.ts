/** Orders rules of OpenCode: its older versions let the longer pattern win, its newer ones the last. */
import type { Located, LocatedEntry } from "./located.ts"
import { coversAll } from "./pattern.ts"

const strictness: ReadonlyMap<unknown, number> = new Map([["allow", 0], ["ask", 1], ["deny", 2]])

const actions = (value: Located): ReadonlyArray<number> =>
  value.kind === "object"
    ? value.entries.map((entry) => actions(entry.value)[0] ?? 0)
    : [value.kind === "string" ? strictness.get(value.value) ?? 0 : 0]

const strictest = (value: Located): number => Math.max(0, ...actions(value))
const laxest = (value: Located): number => Math.min(2, ...actions(value))

/** Ordered rules, and those that were moved. */
export interface OrderedRules {
  readonly entries: ReadonlyArray<LocatedEntry>
  readonly moved: ReadonlyArray<LocatedEntry>
}

/**
 * Moves each rule behind wider and more permissive ones that follow it. `"*": "allow"` after `"git push": "deny"` lifts
 * the denial in only one of OpenCode's versions; here the stricter reading applies.
 */
const order = (written: ReadonlyArray<LocatedEntry>): OrderedRules => {
  let entries: ReadonlyArray<LocatedEntry> = []
  const moved = new Set<LocatedEntry>()
  for (const entry of written) {
    const lifted = entries.filter(({ key, value }) =>
      coversAll(entry.key, key) && strictest(value) > laxest(entry.value)
    )
    for (const each of lifted) moved.add(each)
    entries = [...entries.filter((each) => !lifted.includes(each)), entry, ...lifted]
  }
  return { entries, moved: [...moved] }
}

/** Orders the rules of a `permission`, and the patterns within each. */
export const orderRules = (value: Located): { readonly value: Located; readonly moved: OrderedRules["moved"] } => {
  if (value.kind !== "object") return { value, moved: [] }
  const inner = value.entries.map((entry) =>
    entry.value.kind === "object"
      ? { entry, ...order(entry.value.entries), object: entry.value }
      : { entry, entries: [], moved: [], object: undefined }
  )
  const outer = order(
    inner.map(({ entries, entry, object }) =>
      object === undefined ? entry : { ...entry, value: { ...object, entries } }
    )
  )
  return {
    value: { ...value, entries: outer.entries },
    moved: [...inner.flatMap(({ moved }) => moved), ...outer.moved]
  }
}
