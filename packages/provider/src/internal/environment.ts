/** Reads provider settings from the environment. An empty variable counts as unset. */
import * as Config from "effect/Config"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

/** A trimmed text. */
export const textFrom = (name: string): Config.Config<string | undefined> =>
  Config.map(Config.option(Config.string(name)), (value) => {
    const text = Option.getOrElse(value, () => "").trim()
    return text === "" ? undefined : text
  })

/** A key, redacted from the start. */
export const keyFrom = (name: string): Config.Config<Redacted.Redacted | undefined> =>
  Config.map(textFrom(name), (value) => value === undefined ? undefined : Redacted.make(value))
