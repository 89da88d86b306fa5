/** Decides which model the name of another tool stands for. */
import type { WhyNot } from "./foreign.ts"
import { text } from "./foreign.ts"
import type { LocatedEntry, Place } from "./located.ts"

/** Names that stand for a size: a model of that size of the vendor that the session has its model from. */
const sizes: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?:^|[^a-z])haiku(?:[^a-z]|$)/i, "session/small"],
  [/(?:^|[^a-z])sonnet(?:[^a-z]|$)/i, "session/default"],
  [/(?:^|[^a-z])opus(?:[^a-z]|$)/i, "session/large"]
]

/**
 * Reads such a model: it is a wish. One whose provider cannot be used here is noted, and then that of the session is used.
 */
export const readModel = (
  each: LocatedEntry,
  whyNot: WhyNot,
  note: (at: Place, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const { at, value } = each
  if (value.kind === "null") return []
  if (value.kind !== "string") {
    note(at, "this is no name of a model, so that the model of the session is used")
    return []
  }
  const name = value.value.trim()
  if (name === "" || /^(?:inherit|default|auto|best)$/i.test(name)) return []
  const [provider = "", ...rest] = name.split("/")
  const isWhole = rest.length > 0 && rest.join("/") !== "" && !/[\s{}]/.test(name)
  const why = isWhole ? whyNot(provider) : undefined
  if (isWhole && why === undefined) return [{ ...each, value: { ...value, value: name } }]
  const size = sizes.find(([pattern]) => pattern.test(name))?.[1]
  if (size !== undefined) return [{ ...each, value: text(size, value.at) }]
  note(
    at,
    `${JSON.stringify(value.raw ?? name)} cannot be used here${
      why === undefined || value.raw !== undefined ? "" : `, because ${why}`
    }; the model of the session is used, and agent.NAME.model in skein.json can choose one`
  )
  return []
}
