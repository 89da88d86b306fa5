/** What `skein commands` does. */
import { load } from "@skein/config/CommandFiles"
import { Command, type CommandInfo } from "@skein/core/Command"
import { formatRef } from "@skein/domain/Model"
import { escapeLine, escapeText } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, settle } from "../app.ts"
import { errorLine } from "../explain.ts"
import { directoryOf } from "../place.ts"
import { providerCheck } from "../providers.ts"
import { printList, remark } from "./print.ts"

interface Flags {
  readonly format: "default" | "json"
  readonly dir: string | undefined
}

/** The commands of a directory. Notes on their files go to standard error. */
const found = Effect.fnUntraced(function*(dir: string | undefined) {
  const directory = yield* directoryOf(dir)
  const settled = yield* settle(directory)
  const loaded = yield* load(directory, { ...settled, whyNot: yield* providerCheck })
  yield* remark([...settled.warnings.filter(({ kind }) => kind === "broken"), ...loaded.warnings])
  const { broken, commands } = Command.withBuiltins(loaded)
  const hasServers = Object.values(settled.settings.mcp ?? {}).some(({ enabled }) => enabled !== false)
  if (!hasServers) return { broken, commands }
  const { serverPrompts } = yield* Effect.promise(() => import("../mcpReach.ts"))
  return { broken, commands: [...commands, ...yield* serverPrompts(directory, settled)] }
})

/** The JSON form, for programs. */
const described = ({ model, ...command }: CommandInfo) => ({
  ...command,
  ...(model === undefined ? {} : { model: formatRef(model) })
})

/** Lists the commands. Those that cannot be used are named on standard error. */
export const listCommands = ({ flags }: {
  readonly flags: Flags & { readonly full: boolean }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { broken, commands } = yield* found(flags.dir)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: commands.map(described),
      head: ["COMMAND", "AGENT", "FROM", "DESCRIPTION"],
      rows: commands.map(({ agent, description, name, origin, subtask }) => [
        name,
        `${agent ?? "-"}${subtask === true ? " (subtask)" : ""}`,
        origin,
        description
      ]),
      empty: "There are no commands."
    })
    for (const { message } of broken) stdio.err(errorLine(message))
    return code
  }).pipe(Effect.provide(platform({})))

/** Shows one. */
export const showCommand = (
  { flags, operands: [name = ""] }: { readonly flags: Flags; readonly operands: ReadonlyArray<string> }
): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const all = yield* found(flags.dir)
    const { broken, commands } = all
    const [meant, ...others] = Command.matching(name, all)
    const command = others.length > 0 ? undefined : commands.find((each) => each.name === meant)
    if (command === undefined) {
      const wrong = others.length > 0
        ? { message: `Several commands are called ${JSON.stringify(name)}: ${[meant, ...others].join(", ")}.` }
        : broken.find((each) => each.name === meant)
      return yield* new UsageError({
        message: wrong?.message
          ?? `There is no command ${JSON.stringify(name)}. Commands: ${commands.map((each) => each.name).join(", ")}.`
      })
    }
    if (flags.format === "json") {
      stdio.out(`${JSON.stringify(described(command), undefined, 2)}\n`)
      return ExitCode.done
    }
    const { agent, description, hides, model, origin, subtask, template } = command
    const lines = [
      ["from", origin],
      ...hides.map((hidden) => ["hides", hidden] as const),
      ...(description === undefined ? [] : [["description", description] as const]),
      ...(agent === undefined ? [] : [["agent", agent] as const]),
      ...(model === undefined ? [] : [["model", formatRef(model)] as const]),
      ...(subtask === undefined ? [] : [["subtask", String(subtask)] as const])
    ].map(([key, value]) => `${key}: ${escapeLine(value ?? "")}\n`)
    stdio.out(`${lines.join("")}\n${stdio.isTerminal.output ? escapeText(template) : template}\n`)
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))
