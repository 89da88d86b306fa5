/** What `skein mcp test`, `login` and `logout` do: reach a server that the command names. */
import { type ConfigIssue, formatIssue } from "@skein/config/ConfigError"
import { DataDirs } from "@skein/config/DataDirs"
import { didYouMean } from "@skein/domain/Lookup"
import * as McpLogin from "@skein/mcp/McpLogin"
import { probe } from "@skein/mcp/McpProbe"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Input } from "../../CommandSpec.ts"
import { UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import type { directoryFlags, formatFlags } from "../flags.ts"
import { makeHost } from "../mcp/mcpHost.ts"
import { processes } from "../mcpReach.ts"
import { directoryOf } from "../place.ts"
import { printResult, tell, warn } from "../print.ts"
import { hideConfigured } from "../Redaction.ts"
import { openPage } from "../serve/open.ts"
import { type Configured, configured } from "./configured.ts"

/** Why a server is not reached; undefined where it can be. */
const refusal = (
  name: string,
  servers: ReadonlyArray<Configured>,
  warnings: ReadonlyArray<ConfigIssue>,
  mayBeOff: boolean
): string | undefined => {
  const found = servers.find((server) => server.name === name)
  if (found === undefined) {
    const ignored = warnings.find(({ key }) => key === `mcp.${name}`)
    return ignored !== undefined ?
      `${formatIssue(ignored)}.` :
      `There is no MCP server ${JSON.stringify(name)}.${
        didYouMean(name, servers.map((server) => server.name))
      } \`skein mcp list\` shows all.`
  }
  if (found.state === "off" && !mayBeOff) {
    return `The MCP server ${name} is turned off${found.origin === "" ? "" : ` in ${found.origin}`}.`
  }
  return found.state === "untrusted"
    ? `The MCP server ${name} of ${found.origin} is not trusted. \`skein trust\` shows what it runs, and `
      + `\`skein trust allow ${found.trust}\` trusts it.`
    : undefined
}

/** The server of this name in a directory, and the machine for it. `mayBeOff`: also one that config turns off. */
const targetOf = Effect.fnUntraced(function*(name: string, dir: string | undefined, mayBeOff: boolean) {
  const directory = yield* directoryOf(dir)
  const { servers, settled } = yield* configured(directory)
  yield* hideConfigured(settled.settings)
  const why = refusal(name, servers, settled.warnings, mayBeOff)
  const config = settled.settings.mcp?.[name]
  if (why !== undefined || config === undefined) {
    return yield* new UsageError({ message: why ?? `There is no ${name}.` })
  }
  return {
    host: yield* makeHost,
    target: {
      name,
      config,
      directory: settled.serverDirectories[name] ?? directory,
      servers: servers.filter(({ state }) => state === "on").map((server) => server.name)
    }
  }
})

const counted = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`

/** Connects to a server, and tells what it offers. */
export const testServer = (
  { flags, operands: [name = ""] }: Input<typeof directoryFlags & typeof formatFlags>
) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { host, target } = yield* targetOf(name, flags.dir, false)
    const note = (line: string) => Effect.provideService(warn(escapeLine(line)), Stdio, stdio)
    const found = yield* probe(host, target, note)
    const { connected, listed, notes, offers, prompts, revision, server, tools } = found
    const lines = [
      `${name}: ${server}`,
      `protocol ${revision}, connected in ${connected} ms, listed in ${listed} ms`,
      `offers ${offers.join(", ")}`,
      counted(tools.length, "tool"),
      ...tools.map((tool) => `  ${tool.as}`),
      ...(prompts.length === 0 ? [] : [counted(prompts.length, "prompt"), ...prompts.map((each) => `  ${each}`)])
    ]
    yield* printResult(flags, { name, ...found }, lines.map((line) => `${escapeLine(line)}\n`).join(""))
    if (flags.format === "default") yield* warn(...notes.map(escapeLine))
  }).pipe(Effect.provide(processes))

/** Signs in to a server. */
export const loginServer = ({ flags, operands: [name = ""] }: {
  readonly flags: { readonly dir: string | undefined; readonly "no-open": boolean }
  readonly operands: ReadonlyArray<string>
}) =>
  Effect.gen(function*() {
    const { data } = yield* DataDirs
    const { host, target } = yield* targetOf(name, flags.dir, true)
    const file = join(data, `mcp-login-${process.pid}.html`)
    const stdio = yield* Stdio
    const show = (page: URL) =>
      Effect.gen(function*() {
        yield* warn(`sign in at ${page.host}. If no browser opens, open this page:`)
        yield* tell(page.href)
        if (flags["no-open"]) return
        yield* Effect.sync(() => mkdirSync(data, { recursive: true, mode: 0o700 }))
        yield* openPage(page.href, file)
      }).pipe(Effect.provideService(Stdio, stdio))
    const { issuer } = yield* Effect.ensuring(
      McpLogin.login(host, target, show),
      Effect.sync(() => rmSync(file, { force: true }))
    )
    yield* warn(escapeLine(`signed in to ${name}; the login is from ${issuer}`))
  }).pipe(Effect.provide(processes))

/** Signs out of a server. */
export const logoutServer = ({ flags, operands: [name = ""] }: Input<typeof directoryFlags>) =>
  Effect.gen(function*() {
    const { host, target } = yield* targetOf(name, flags.dir, true)
    const was = yield* McpLogin.logout(host, target)
    yield* warn(escapeLine(was ? `signed out of ${name}` : `there was no login to ${name}`))
  }).pipe(Effect.provide(processes))
