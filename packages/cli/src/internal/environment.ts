/** Reads the environment of the process as a whole, for those who hand it on. */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"

// No variable has this character in its name, so that each is one key.
const provider = ConfigProvider.fromEnv({ pathDelim: "\0", seqDelim: "\0" })

/** All variables. */
export const environment: Effect.Effect<Readonly<Record<string, string>>> = Config.hashMap(Config.string()).pipe(
  Effect.withConfigProvider(provider),
  Effect.map((variables) => Object.fromEntries(variables)),
  Effect.orDieWith((error) => new Error(`The environment cannot be read: ${String(error)}`))
)
