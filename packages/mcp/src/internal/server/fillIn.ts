/** Puts variables and files where config names them, when a server starts: `${V}`, `${V:-default}`, `{env:V}` and `{file:PATH}`. */
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import type { McpHost } from "../../McpHost.ts"
import { ServerFailed } from "../ServerFailed.ts"

type Filler = Pick<McpHost, "readText" | "variables">

/** `${V}` and `${V:-default}` as Claude Code has them, `{env:V}` and `{file:PATH}` as Skein and OpenCode have them. */
const placeholder = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\{(env|file):([^{}]*)\}/g

const isSet = (value: string | undefined): value is string => value !== undefined && value !== ""

/** A text with all put in, once: what is put in is not looked at again. */
const filled = Effect.fnUntraced(function*(text: string, { readText, variables }: Filler) {
  let value = ""
  let end = 0
  for (const { 0: whole, 1: name, 2: otherwise, 3: kind, 4: named = "", index } of text.matchAll(placeholder)) {
    value += text.slice(end, index)
    end = index + whole.length
    if (name !== undefined) {
      const found = variables[name]
      // One that is not set and has no default stays as it is written.
      value += otherwise === undefined ? found ?? whole : isSet(found) ? found : otherwise
    } else if (kind === "env") {
      const found = variables[named]
      if (found === undefined) {
        return yield* new ServerFailed({ message: `${whole}: the environment variable ${named} is not set` })
      }
      value += found
    } else {
      const found = yield* Effect.mapError(
        readText(named),
        ({ message }) => new ServerFailed({ message: `${whole}: ${message}` })
      )
      value += found.replace(/(?:\r?\n)+$/, "")
    }
  }
  return value + text.slice(end)
})

const filledRecord = Effect.fnUntraced(function*(texts: Readonly<Record<string, string>>, filler: Filler) {
  const entries = yield* Effect.forEach(
    Object.entries(texts),
    ([key, text]) => Effect.map(filled(text, filler), (value) => [key, value] as const)
  )
  return Object.fromEntries(entries)
})

/** The config of a server with all put in. */
export const fillIn = Effect.fnUntraced(function*(config: McpServerConfig, filler: Filler) {
  const { client_secret, command, env, headers, url } = config
  const words = yield* Effect.forEach(command ?? [], (word) => filled(word, filler))
  const [program, ...rest] = words
  return {
    ...config,
    ...(program === undefined ? {} : { command: [program, ...rest] as const }),
    ...(client_secret === undefined ? {} : { client_secret: yield* filled(client_secret, filler) }),
    ...(url === undefined ? {} : { url: yield* filled(url, filler) }),
    ...(headers === undefined ? {} : { headers: yield* filledRecord(headers, filler) }),
    ...(env === undefined ? {} : { env: yield* filledRecord(env, filler) })
  } satisfies McpServerConfig
})
