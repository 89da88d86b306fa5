/** What `skein mcp add` and `skein mcp remove` do. */
import { projectFile, setValue, userFile, valueIn } from "@skein/config/EditConfig"
import { isSkeinItself, McpServerConfig, startsSkein } from "@skein/domain/McpConfig"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { directoryOf, projectOf } from "../place.ts"
import { configured } from "./list.ts"

interface Place {
  readonly dir: string | undefined
  readonly project: boolean
}

interface Adding extends Place {
  readonly env: ReadonlyArray<string>
  readonly header: ReadonlyArray<string>
  readonly sse: boolean
}

const fileOf = ({ dir, project }: Place) =>
  project ? Effect.flatMap(Effect.flatMap(directoryOf(dir), projectOf), projectFile) : userFile

const named = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Texts by name, as flags have them: `NAME=VALUE` or `NAME: VALUE`. */
const textsOf = (flag: string, separator: string, given: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(given, (text) => {
      const at = text.indexOf(separator)
      return at < 1
        ? new UsageError({ message: `${flag} needs NAME${separator}VALUE, and got ${JSON.stringify(text)}.` })
        : Effect.succeed([text.slice(0, at).trim(), text.slice(at + separator.length).trim()] as const)
    }),
    (entries) => entries.length === 0 ? undefined : Object.fromEntries(entries)
  )

/** The config of what the command line describes. */
const describedBy = Effect.fnUntraced(function*(words: ReadonlyArray<string>, flags: Adding) {
  const [first = "", ...rest] = words
  const env = yield* textsOf("--env", "=", flags.env)
  const headers = yield* textsOf("--header", ":", flags.header)
  const isUrl = /^https?:\/\//i.test(first)
  if (!isUrl && /^[a-z][\w+.-]*:\/\//i.test(first)) {
    return yield* new UsageError({ message: `${JSON.stringify(first)} is not an http(s) URL.` })
  }
  if (isUrl && rest.length > 0) {
    return yield* new UsageError({ message: `A URL stands alone, and is followed by ${JSON.stringify(rest[0])}.` })
  }
  if (isUrl && env !== undefined) {
    return yield* new UsageError({ message: "--env is for programs. Use --header for a server at a URL." })
  }
  if (!isUrl && (headers !== undefined || flags.sse)) {
    return yield* new UsageError({ message: "--header and --sse are for servers at a URL. Use --env for a program." })
  }
  const config = isUrl
    ? { ...(flags.sse ? { type: "sse" } : {}), url: first, ...(headers === undefined ? {} : { headers }) }
    : { command: [first, ...rest], ...(env === undefined ? {} : { env }) }
  if (startsSkein(words)) return yield* new UsageError({ message: `${words.join(" ")}: ${isSkeinItself}.` })
  yield* Effect.mapError(
    Schema.decodeUnknown(McpServerConfig)(config),
    ({ message }) => new UsageError({ message: `This is no MCP server: ${message}` })
  )
  return config
})

/** Adds a server to a config file. */
export const addServer = ({ flags, operands: [name = "", ...words] }: {
  readonly flags: Adding
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    if (!named.test(name)) {
      return yield* new UsageError({
        message: `${JSON.stringify(name)} is not a name for a server: use letters, digits, ".", "_" and "-".`
      })
    }
    const config = yield* describedBy(words, flags)
    const path = yield* fileOf(flags)
    if ((yield* valueIn(path, ["mcp", name])) !== undefined) {
      return yield* new UsageError({
        message: `${path} has a server ${name} already. Remove it first: \`skein mcp remove ${name}\`.`
      })
    }
    yield* setValue(path, ["mcp", name], config)
    const stdio = yield* Stdio
    stdio.out(`${escapeLine(path)}\n`)
    stdio.err(
      flags.project
        ? `skein: added ${name}. It starts only after \`skein trust\`: others who use this project are asked as well.`
        : `skein: added ${name}. Try it: skein mcp test ${name}`
    )
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))

/** Removes a server from a config file. */
export const removeServer = ({ flags, operands: [name = ""] }: {
  readonly flags: Place
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const path = yield* fileOf(flags)
    if ((yield* valueIn(path, ["mcp", name])) === undefined) {
      const { servers } = yield* Effect.flatMap(directoryOf(flags.dir), configured)
      const found = servers.find((server) => server.name === name)
      return yield* new UsageError({
        message: found === undefined
          ? `There is no MCP server ${JSON.stringify(name)} in ${path}. \`skein mcp list\` shows all.`
          : `The MCP server ${name} is not in ${path} but in ${found.origin}. Remove it there, or turn it off: `
            + `put "mcp": { ${JSON.stringify(name)}: { "enabled": false } } into ${path}.`
      })
    }
    yield* setValue(path, ["mcp", name], undefined)
    const stdio = yield* Stdio
    stdio.out(`${escapeLine(path)}\n`)
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))
