/** `skein mcp`: manages the MCP servers of agents, and serves MCP clients. What reaches servers is loaded when called. */
import { projectFile, setValue, userFile, valueIn } from "@skein/config/EditConfig"
import { isSkeinItself, McpServerConfig, startsSkein } from "@skein/domain/McpConfig"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { command, group, type Input } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { directoryFlags, formatFlags, listingFlags, placeFlags } from "../internal/flags.ts"
import { configured } from "../internal/mcpCommands/configured.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { printList, remark, warn } from "../internal/print.ts"
import { Stdio } from "../Stdio.ts"

const reach = () => import("../internal/mcpCommands/reach.ts")

/** Lists the servers of a directory; it starts none. */
const list = command({
  name: "list",
  summary: "Lists the MCP servers that apply here, with the file that defines each",
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { servers, settled } = yield* Effect.flatMap(directoryOf(flags.dir), configured)
      // This list is about servers, so remarks about them are shown in full.
      yield* remark(settled.warnings.map(({ kind, ...issue }) =>
        kind === undefined || (kind === "note" && issue.key?.startsWith("mcp") === true) ? issue : { ...issue, kind }
      ))
      yield* printList(flags, {
        items: servers,
        columns: {
          NAME: ({ name }) =>
            name,
          STATE: ({ state, trust }) => state === "untrusted" ? `needs trust (${trust})` : state,
          FROM: ({ origin }) => origin,
          SERVER: ({ config: { command: words, url } }) => url ?? words?.join(" ")
        },
        empty: "There are no MCP servers. Add one with `skein mcp add NAME URL` or `skein mcp add NAME -- PROGRAM…`."
      })
    })
})

const projectFlags = {
  project: { type: "switch", description: "Changes the skein.json of this project instead of your own" },
  ...directoryFlags
} as const

const fileOf = ({ dir, project }: Input<typeof projectFlags>["flags"]) =>
  project ? Effect.flatMap(Effect.flatMap(directoryOf(dir), projectOf), projectFile) : userFile

const addFlags = {
  env: { type: "text", value: "NAME=VALUE", many: true, description: "A variable that the program sees; repeatable" },
  header: {
    type: "text",
    value: "NAME: VALUE",
    many: true,
    description: "A header of each request to a URL; repeatable"
  },
  sse: { type: "switch", description: "The URL speaks the older HTTP with SSE" },
  ...projectFlags
} as const

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
const describedBy = Effect.fnUntraced(function*(words: ReadonlyArray<string>, flags: Input<typeof addFlags>["flags"]) {
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

const add = command({
  name: "add",
  summary: "Adds a server to your skein.json: `skein mcp add NAME URL`, or `skein mcp add NAME -- PROGRAM…`",
  details:
    "Write `${NAME}` for a variable of your environment, so that no secret is in the file. Keeps comments.\nThen try it: `skein mcp test NAME`.",
  operands: "NAME URL|PROGRAM…",
  flags: addFlags,
  run: ({ flags, operands: [name = "", ...words] }) =>
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
      const { out } = yield* Stdio
      out(`${escapeLine(path)}\n`)
      yield* warn(
        flags.project
          ? `added ${name}. It starts only after \`skein trust\`: others who use this project are asked as well.`
          : `added ${name}. Try it: skein mcp test ${name}`
      )
    })
})

const remove = command({
  name: "remove",
  summary: "Removes a server from your skein.json",
  operands: "NAME",
  flags: projectFlags,
  run: ({ flags, operands: [name = ""] }) =>
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
      const { out } = yield* Stdio
      out(`${escapeLine(path)}\n`)
    })
})

const test = command({
  name: "test",
  summary: "Connects to a server; shows its protocol revision, its tools and the time that it took",
  operands: "NAME",
  flags: { ...formatFlags, ...directoryFlags },
  load: () => reach().then(({ testServer }) => testServer)
})

const login = command({
  name: "login",
  summary: "Signs in to a server that asks for it, over OAuth",
  details: "Shows the page to sign in on and opens it in a browser. Keeps the tokens under the URL of the server.",
  operands: "NAME",
  flags: {
    "no-open": { type: "switch", description: "Shows the page, and opens no browser" },
    ...directoryFlags
  },
  load: () => reach().then(({ loginServer }) => loginServer)
})

const logout = command({
  name: "logout",
  summary: "Forgets the tokens of a server",
  operands: "NAME",
  flags: directoryFlags,
  load: () => reach().then(({ logoutServer }) => logoutServer)
})

const serve = command({
  name: "serve",
  summary: "Serves a client of MCP over standard input and output, which delegates tasks to agents",
  details: "A client such as Claude Code starts this itself. See docs/mcp-server.md.",
  flags: { ...directoryFlags, ...placeFlags },
  load: () => import("../internal/mcpServe/execute.ts").then(({ executeMcpServe }) => executeMcpServe)
})

/** Lists, adds, removes and tries MCP servers, and is one. */
export const mcp = group([list, add, remove, test, login, logout, serve])
