/**
 * Owns the secrets that this process knows. Removes them from logs, from causes that are shown, and from what is sent.
 */
import { secretsIn } from "@skein/config/McpSecrets"
import type { Settings } from "@skein/core/Config"
import { makeRedactor } from "@skein/provider/Redactor"
import { environment } from "@skein/tools/Environment"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

type Variables = Effect.Effect.Success<typeof environment>

interface Redact {
  /** The text without known secrets, and without anything that looks like one. */
  readonly redact: (text: string) => string
  /** Adds secrets. */
  readonly hide: (secrets: ReadonlyArray<string>) => void
}

const secretName = /key|token|secret|password|passwd|credential|auth/i

/** A shorter value is more likely an ordinary word than a secret. */
const shortest = 8

/** The values of variables whose names say that they are secret. */
const secretsOf = (variables: Variables): ReadonlyArray<string> =>
  Object.entries(variables).flatMap(([name, value]) => value !== undefined && secretName.test(name) ? [value] : [])

const make = (first: ReadonlyArray<string>): Redact => {
  const secrets = new Set<string>()
  let redactor: ((text: string) => string) | undefined
  const hide = (more: ReadonlyArray<string>) => {
    for (const each of more) if (each.length >= shortest) secrets.add(each)
    redactor = undefined
  }
  hide(first)
  return {
    hide,
    redact: (text) => {
      redactor ??= makeRedactor([...secrets].map((each) => Redacted.make(each)))
      return redactor(text)
    }
  }
}

/** The known secrets. By default none, so only what looks like a secret is removed. */
export class Redaction extends Context.Reference<Redaction>()("@skein/cli/internal/Redaction", {
  defaultValue: () => make([])
}) {
  /** Knows the environment variables of this process whose names mark them as secret. */
  static readonly ofProcess: Effect.Effect<Redact> = Effect.map(environment, (variables) => make(secretsOf(variables)))
}

/** Adds the secrets in config: keys in custom variables, headers, and values of MCP servers. */
export const hideConfigured = (settings: Settings): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { hide } = yield* Redaction
    const variables = yield* environment
    const providers = Object.values(settings.provider ?? {})
    hide([
      ...providers.flatMap(({ key_env }) => key_env === undefined ? [] : [variables[key_env] ?? ""]),
      ...providers.flatMap(({ headers }) => Object.values(headers ?? {})),
      ...Object.values(settings.mcp ?? {}).flatMap(secretsIn),
      ...Object.values(settings.telemetry?.headers ?? {})
    ])
  })
