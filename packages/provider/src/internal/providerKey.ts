/** Finds the key of a provider in the environment. */
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { keyNamesOf } from "../BuiltIn.ts"
import { keyFrom } from "./environment.ts"

/** The variable that holds a provider's key, or that should hold it, and the key if it is set. */
export interface ProviderKey {
  readonly name: string | undefined
  readonly key: Redacted.Redacted | undefined
}

/** The first key that is set, and its variable; the first variable if none is. */
export const findKey = (
  id: string,
  config: ProviderConfig | undefined
): Effect.Effect<ProviderKey, ConfigError> =>
  Effect.gen(function*() {
    const names = keyNamesOf(id, config)
    for (const name of names) {
      const key = yield* keyFrom(name)
      if (key !== undefined) return { name, key }
    }
    return { name: names[0], key: undefined }
  })
