/** Decides which model the name of another tool stands for. */
import type { Known } from "./foreign.ts"
import { text } from "./foreign.ts"
import type { LocatedEntry, Place } from "./located.ts"

/** Names that stand for a size: a model of that size of the vendor that the session has its model from. */
const sizes: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?:^|[^a-z])haiku(?:[^a-z]|$)/i, "session/small"],
  [/(?:^|[^a-z])sonnet(?:[^a-z]|$)/i, "session/default"],
  [/(?:^|[^a-z])opus(?:[^a-z]|$)/i, "session/large"]
]

/** Reads such a model: one that cannot be looked up is noted, and then that of the session is used. */
export const readModel = (
  each: LocatedEntry,
  known: Known,
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
  // What stands for `{env:X}` is not known yet.
  if (/\{(?:env|file):/.test(name)) return [each]
  const [provider = "", ...rest] = name.split("/")
  if (rest.length > 0 && rest.join("/") !== "" && !/\s/.test(name) && known(provider)) {
    return [{ ...each, value: text(name, value.at) }]
  }
  const size = sizes.find(([pattern]) => pattern.test(name))?.[1]
  if (size !== undefined) return [{ ...each, value: text(size, value.at) }]
  note(
    at,
    `${
      rest.length === 0
        ? `which provider has ${JSON.stringify(name)} is not known`
        : `there is no provider ${JSON.stringify(provider)} here`
    }, so that the model of the session is used; agent.NAME.model in skein.json can choose one`
  )
  return []
}
