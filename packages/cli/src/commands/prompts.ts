/** `skein commands` and `skein skills`: what prompts can name. */
import { load as loadCommands } from "@skein/config/CommandFiles"
import { load as loadSkills } from "@skein/config/SkillFiles"
import { Command, type CommandInfo } from "@skein/core/Command"
import { formatRef } from "@skein/domain/Model"
import { escapeLine, escapeText } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { command, commandBody, group } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { settle } from "../internal/app.ts"
import { directoryFlags, formatFlags, listingFlags } from "../internal/flags.ts"
import { directoryOf } from "../internal/place.ts"
import { printList, printResult, remark, warn } from "../internal/print.ts"
import { providerCheck } from "../internal/providers.ts"
import { Stdio } from "../Stdio.ts"

/** The commands of a directory. Notes on their files go to standard error. */
const found = Effect.fnUntraced(function*(dir: string | undefined) {
  const directory = yield* directoryOf(dir)
  const settled = yield* settle(directory)
  const loaded = yield* loadCommands(directory, { ...settled, whyNot: yield* providerCheck })
  yield* remark([...settled.warnings.filter(({ kind }) => kind === "broken"), ...loaded.warnings])
  const { broken, commands } = Command.withBuiltins(loaded)
  const hasServers = Object.values(settled.settings.mcp ?? {}).some(({ enabled }) => enabled !== false)
  if (!hasServers) return { broken, commands }
  const { serverPrompts } = yield* Effect.promise(() => import("../internal/mcpReach.ts"))
  return { broken, commands: [...commands, ...yield* serverPrompts(directory, settled)] }
})

/** The JSON form, for programs. */
const described = ({ model, ...info }: CommandInfo) => ({
  ...info,
  ...(model === undefined ? {} : { model: formatRef(model) })
})

const list = command({
  name: "list",
  summary: "Lists the commands, and the files that cannot be used",
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { broken, commands } = yield* found(flags.dir)
      yield* printList(flags, {
        items: commands,
        json: commands.map(described),
        columns: {
          COMMAND: ({ name }) => name,
          AGENT: ({ agent, subtask }) => `${agent ?? "-"}${subtask === true ? " (subtask)" : ""}`,
          FROM: ({ origin }) => origin,
          DESCRIPTION: ({ description }) => description
        },
        empty: "There are no commands."
      })
      yield* warn(...broken.map(({ message }) => message))
    })
})

const show = command({
  name: "show",
  summary: "Shows a command with its template, and what it overrides",
  operands: "NAME",
  flags: { ...formatFlags, ...directoryFlags },
  run: ({ flags, operands: [name = ""] }) =>
    Effect.gen(function*() {
      const { isTerminal } = yield* Stdio
      const all = yield* found(flags.dir)
      const { broken, commands } = all
      const [meant, ...others] = Command.matching(name, all)
      const shown = others.length > 0 ? undefined : commands.find((each) => each.name === meant)
      if (shown === undefined) {
        const wrong = others.length > 0
          ? { message: `Several commands are called ${JSON.stringify(name)}: ${[meant, ...others].join(", ")}.` }
          : broken.find((each) => each.name === meant)
        return yield* new UsageError({
          message: wrong?.message
            ?? `There is no command ${JSON.stringify(name)}. Commands: ${commands.map((each) => each.name).join(", ")}.`
        })
      }
      const { agent, description, hides, model, origin, subtask, template } = shown
      const lines = [
        ["from", origin],
        ...hides.map((hidden) => ["hides", hidden]),
        ["description", description],
        ["agent", agent],
        ["model", model === undefined ? undefined : formatRef(model)],
        ["subtask", subtask === undefined ? undefined : String(subtask)]
      ].flatMap(([key, value]) => value === undefined ? [] : [`${key}: ${escapeLine(value)}\n`])
      yield* printResult(
        flags,
        described(shown),
        `${lines.join("")}\n${isTerminal.output ? escapeText(template) : template}\n`
      )
    })
})

/** Lists and shows the commands. */
export const namedPrompts = group([list, show])

/** Lists the skills. Those that cannot be used are named on standard error. */
export const skills = commandBody({
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const loaded = yield* Effect.flatMap(directoryOf(flags.dir), loadSkills)
      yield* remark(loaded.warnings)
      yield* printList(flags, {
        items: loaded.skills,
        json: loaded.skills.map(({ text: _text, ...skill }) => skill),
        columns: {
          SKILL: ({ name }) => name,
          FROM: ({ origin }) => origin,
          DESCRIPTION: ({ description }) => description
        },
        empty: "There are no skills. A folder with a SKILL.md in .skein/skills is one."
      })
      yield* warn(...loaded.broken.map(({ message }) => message))
    })
})
