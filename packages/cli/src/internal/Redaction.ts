/** Owns what is known of secrets in this process, and takes them out of what is logged, shown with causes, or sent. */
import { secretsIn } from "@skein/config/McpSecrets"
import type { Settings } from "@skein/core/Config"
import { makeRedactor } from "@skein/provider/Redactor"
import { environment } from "@skein/tools/Environment"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

type Variables = Effect.Effect.Success<typeof environment>

interface Redact {
  /** The text without secrets that are known, and without what looks like one. */
  readonly redact: (text: string) => string
  /** Makes more secrets known. */
  readonly hide: (secrets: ReadonlyArray<string>) => void
}

const secretName = /key|token|secret|password|passwd|credential|auth/i

/** Shorter values are more likely an ordinary word than a secret. */
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

/** What is known of secrets; where nobody provides more, only what looks like one is. */
export class Redaction extends Context.Reference<Redaction>()("@skein/cli/internal/Redaction", {
  defaultValue: () => make([])
}) {
  /** Knows the variables of this process whose names say that they are secret. */
  static readonly ofProcess: Effect.Effect<Redact> = Effect.map(environment, (variables) => make(secretsOf(variables)))
}

/** Makes known what is secret by config: keys under names of their own, the values of headers, and what MCP servers get. */
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
