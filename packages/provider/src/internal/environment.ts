/** Reads what the environment says of a provider; what is empty counts as not there. */
import * as Config from "effect/Config"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

/** A text, without the space around it. */
export const textFrom = (name: string): Config.Config<string | undefined> =>
  Config.map(Config.option(Config.string(name)), (value) => {
    const text = Option.getOrElse(value, () => "").trim()
    return text === "" ? undefined : text
  })

/** A key, hidden as soon as it is read. */
export const keyFrom = (name: string): Config.Config<Redacted.Redacted | undefined> =>
  Config.map(textFrom(name), (value) => value === undefined ? undefined : Redacted.make(value))
