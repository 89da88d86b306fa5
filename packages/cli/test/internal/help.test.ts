import { describe, expect, it } from "vitest"
import { commands } from "../../src/Commands.ts"
import type { CommandSpec } from "../../src/CommandSpec.ts"
import { opened } from "../../src/internal/arguments.ts"
import { helpOf } from "../../src/internal/help.ts"

const reached = (command: CommandSpec): ReadonlyArray<ReadonlyArray<CommandSpec>> => [
  [command],
  ...(command.commands ?? []).map((each) => [command, each])
]

const loaded = await Promise.all(commands.map(opened))

describe("help", () => {
  it("of the program names every command", () => {
    const text = helpOf(commands, [], "1.2.3")
    expect(text).toContain("Skein 1.2.3")
    for (const { name, summary } of commands) {
      expect(text).toMatch(new RegExp(`^ {2}${name}.* ${summary.slice(0, 20)}`, "m"))
    }
  })

  it.each(
    loaded.flatMap(reached).map((path) => [path.map(({ name }) => name).join(" "), path] as const)
  )(
    "of %s tells its usage and every flag, in lines that fit",
    (name, path) => {
      const text = helpOf(commands, path, "")
      expect(text).toContain(`Usage: skein ${name} `)
      for (const [flag, { description }] of Object.entries(path.at(-1)?.flags ?? {})) {
        expect(text).toContain(`--${flag}`)
        expect(text).toContain(description)
      }
      for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(120)
    }
  )
})
