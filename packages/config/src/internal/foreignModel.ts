/** Translates a model name of another tool. */
import type { WhyNot } from "./foreign.ts"
import { text } from "./foreign.ts"
import type { Located, LocatedEntry, Place } from "./located.ts"

/** Names of model sizes: a model of that size from the vendor of the session's model. */
const sizes: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?:^|[^a-z])haiku(?:[^a-z]|$)/i, "session/small"],
  [/(?:^|[^a-z])sonnet(?:[^a-z]|$)/i, "session/default"],
  [/(?:^|[^a-z])opus(?:[^a-z]|$)/i, "session/large"]
]

/** A model and its variant, which OpenCode writes as `provider/model#variant`, or with a key for each part. */
export const selectionOf = (value: Located): { readonly model: Located; readonly variant?: Located } => {
  if (value.kind === "string") {
    const [, name, variant] = /^([^#]*\/[^#]*)#([^#]+)$/.exec(value.value) ?? []
    return name === undefined || variant === undefined
      ? { model: value }
      : { model: { ...value, value: name }, variant: text(variant, value.at) }
  }
  if (value.kind !== "object") return { model: value }
  const part = (key: string) => value.entries.find((each) => each.key === key)?.value
  const [provider, name, variant] = [part("providerID"), part("model"), part("variant")]
  return provider?.kind !== "string" || name?.kind !== "string"
    ? { model: value }
    : {
      model: text(`${provider.value}/${name.value}`, value.at),
      ...(variant?.kind === "string" ? { variant } : {})
    }
}

/**
 * Reads such a model as a preference: if its provider cannot be used here, that is noted, and the session's model is
 * used.
 */
export const readModel = (
  each: LocatedEntry,
  whyNot: WhyNot,
  note: (at: Place, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const { at } = each
  const value = selectionOf(each.value).model
  if (value.kind === "null") return []
  if (value.kind !== "string") {
    note(at, "this is not a model name, so the model of the session is used")
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
