/**
 * The service of commands: which are built in, which one a name means, and how to prompt with it as a fiber of the
 * session.
 */
import type { Ids, SessionID } from "@skein/domain/Id"
import { nearest } from "@skein/domain/Lookup"
import { mentionsIn } from "@skein/domain/Mention"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import {
  type CommandInfo,
  CommandInvalid,
  type CommandList,
  CommandNotFound,
  type CommandRequest,
  Commands
} from "../../Commands.ts"
import type { Journal } from "../../Journal.ts"
import type { Leases } from "../../Leases.ts"
import type { Permission } from "../../Permission.ts"
import { Projects, type ProjectServices } from "../../Projects.ts"
import { Session } from "../../Session.ts"
import type { Spill } from "../../Spill.ts"
import { Tools } from "../../Tool.ts"
import { type PromptOptions, stoppedBefore } from "../../Turn.ts"
import { type Live, startSideFiber } from "../live/Live.ts"
import { checkPlace } from "../live/places.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { initRequest } from "../prompts.ts"
import { servicesForLater } from "../traced.ts"
import { attach, expand, rawOf } from "./expand.ts"

const init = `${initRequest}

Look before you write: the README, manifests, scripts, the configuration of linters, formatters and tests, the layout of the sources, and what other files for agents there are (CLAUDE.md, .cursor/rules, .github/copilot-instructions.md). If AGENTS.md exists, keep what is right, correct what is wrong, and add what is missing.

Say in about 40 lines:
- the commands to build, check and test, and the one that runs a single test;
- where things are, and how the parts depend on each other;
- conventions that no linter checks: imports, names, errors, tests;
- what you must not do here, and what is surprising.

Write only what you found in the files, and nothing that is true of every project.

$ARGUMENTS`

const review = `Review changes of this project: $ARGUMENTS

If nothing is named above, review the uncommitted changes, including new files, or else the last commit. You may be given a commit, a branch, a range, or files.

Read the whole of each changed file, not only the lines of the diff, and what calls the changed code. Look for:
- bugs: wrong conditions, forgotten cases, swallowed errors, races, leaks;
- what the change breaks elsewhere, and missing tests;
- security: trusted input, secrets, permissions;
- code that does not follow the conventions of this project.

Verify each finding in the code before you report it. List the most serious first: file and line, what is wrong, how it shows, and how to fix it. If you found nothing, say so, and name what you could not check. Change no files.`

const builtin = (name: string, description: string, template: string): CommandInfo => ({
  name,
  description,
  template,
  origin: "built in",
  hides: []
})

const builtins: ReadonlyArray<CommandInfo> = [
  builtin("init", "Writes AGENTS.md: what an agent must know about this project", init),
  builtin("review", "Reviews uncommitted changes, or the commit, branch or files that you name", review)
]

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

/** Adds the built-in commands that nothing overrides; even a broken file of the same name overrides one. */
export const withBuiltins = ({ broken, commands }: CommandList): CommandList => {
  const names = new Set([...commands, ...broken].map(({ name }) => name))
  const hiding = commands.map((command): CommandInfo =>
    builtins.some(({ name }) => name === command.name)
      ? { ...command, hides: ["built in", ...command.hides] }
      : command
  )
  return { broken, commands: [...builtins.filter(({ name }) => !names.has(name)), ...hiding].toSorted(byName) }
}

/** The names of the commands, usable or not. */
interface Names {
  readonly commands: ReadonlyArray<{ readonly name: string }>
  readonly broken: ReadonlyArray<{ readonly name: string }>
}

/** A prompt of an MCP server: which there are, only the server knows. */
const serverPrompt = /^mcp:([^\s:]+):(\S+)$/

/** The command that stands for such a prompt. */
const promptOf = (name: string): CommandInfo | undefined => {
  const [, server, prompt] = serverPrompt.exec(name) ?? []
  return server === undefined || prompt === undefined
    ? undefined
    : { name, template: "", prompt: { server, name: prompt }, origin: `the MCP server ${server}`, hides: [] }
}

/**
 * The possible names: `git/commit` is also called `git:commit`, and `commit` if no other command is. More than one if
 * the name alone is ambiguous.
 */
export const matching = (name: string, { broken, commands }: Names): ReadonlyArray<string> => {
  const names = [...new Set([...commands, ...broken].map((each) => each.name))]
  if (names.includes(name)) return [name]
  const path = name.replaceAll(":", "/")
  if (names.includes(path)) return [path]
  if (serverPrompt.test(name)) return [name]
  return path.includes("/") ? [] : names.filter((each) => each.endsWith(`/${path}`))
}

/** The command of a name; the error says what is wrong with it, or lists the commands. */
const find = (
  name: string,
  list: CommandList
): Effect.Effect<CommandInfo, CommandInvalid | CommandNotFound> => {
  const [meant = name, ...others] = matching(name, list)
  if (others.length > 0) {
    return new CommandNotFound({
      name,
      message: `Several commands are called ${JSON.stringify(name)}: ${
        [meant, ...others].join(", ")
      }. Write one in full.`
    })
  }
  const found = list.commands.find((command) => command.name === meant)
  const known = found ?? promptOf(meant)
  if (known !== undefined) return Effect.succeed(known)
  const wrong = list.broken.find((each) => each.name === meant)
  if (wrong !== undefined) return new CommandInvalid({ name, message: wrong.message })
  const names = list.commands.map((command) => command.name)
  const near = nearest(name, names)
  return new CommandNotFound({
    name,
    message: `There is no command ${JSON.stringify(name)}. ${
      near === undefined ? `Commands: ${names.join(", ")}.` : `Did you mean "${near}"?`
    } See \`skein commands\`.`
  })
}

type Needs = Ids | Journal | Leases | Permission | SessionTable | Spill

/** Makes the service. */
export const makeCommand = Effect.gen(function*() {
  const projects = yield* Projects
  const table = yield* SessionTable
  const session = yield* Session
  const context = yield* servicesForLater<Needs>()
  const found = (directory: string) =>
    Effect.flatMap(Commands, (commands) => Effect.map(commands.list(directory), withBuiltins))
  const withPrompts = (directory: string, servers: boolean) =>
    Effect.gen(function*() {
      const tools = yield* Tools
      if (servers) yield* tools.commandsReady
      const { broken, commands } = yield* found(directory)
      return { broken, commands: [...commands, ...tools.commands()] }
    })
  const list = (directory: string, { servers = false }: { readonly servers?: boolean } = {}) =>
    Effect.provideService(Projects.use(directory, withPrompts(directory, servers)), Projects, projects)

  const get = (directory: string, name: string) => Effect.flatMap(list(directory), (all) => find(name, all))

  /** Works in a session until that is stopped: what a command runs ends with it. */
  const inSession = <A, E>(id: SessionID, work: (live: Live) => Effect.Effect<A, E, Needs | ProjectServices>) =>
    table.work(id, (live) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const { stops } = live.run
          const fiber = yield* Effect.provide(startSideFiber(live, table.inProject(live, work(live))), context)
          const exit = yield* Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
          if (live.run.stops !== stops || (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))) {
            return yield* stoppedBefore(id, "it was prompted")
          }
          return yield* exit
        })
      ))

  const expanded = Effect.fn("Command.expand")(function*(id: SessionID, request: CommandRequest) {
    return yield* inSession(id, (live) =>
      checkPlace(live).pipe(
        Effect.zipRight(found(live.info.directory)),
        Effect.flatMap((all) => find(request.name, all)),
        Effect.flatMap((command) => expand(live, command, request))
      ))
  })

  const run = Effect.fnUntraced(function*(
    id: SessionID,
    request: CommandRequest,
    options: Omit<PromptOptions, "command"> = {},
    also: ReadonlyArray<PartInput> = [],
    onExpanded: (parts: ReadonlyArray<PartInput>) => void = () => undefined
  ) {
    const { agent, model, parts } = yield* expanded(id, request)
    onExpanded(parts)
    return yield* session.prompt(id, [...parts, ...also], {
      ...options,
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined || options.model !== undefined ? {} : { model }),
      command: { name: request.name, arguments: rawOf(request) }
    })
  })

  return {
    list,
    get,
    expand: expanded,
    run,
    mentioned: (id: SessionID, text: string) => {
      const named = mentionsIn(text)
      const said: PartInput = { type: "text", text }
      return named.length === 0
        ? Effect.succeed([said])
        : inSession(id, (live) => Effect.map(attach(live, named, true), (parts) => [said, ...parts]))
    }
  }
})
