/** Reads provider settings from the environment, and completes the base URLs of APIs. An empty variable counts as unset. */
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

/** Whether a base URL leads to the provider's own server. */
export const isOfficial = (baseUrl: string, official: string): boolean =>
  baseUrl === official || (URL.canParse(baseUrl) && new URL(baseUrl).host === new URL(official).host)

/** Adds the version to a base URL without one: other clients of some APIs take the URL without it. */
export const withVersion = (baseUrl: string, version: string): string =>
  /\/v\d\w*\/*$/.test(baseUrl) || !URL.canParse(baseUrl) ? baseUrl : `${baseUrl.replace(/\/+$/, "")}/${version}`
