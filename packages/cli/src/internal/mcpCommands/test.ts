/** What `skein mcp test` does. */
import { probe } from "@skein/mcp/McpProbe"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { machine } from "../mcpReach.ts"
import { targetOf } from "./target.ts"

const counted = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`

/** Connects to a server, and tells what it offers. */
export const testServer = ({ flags, operands: [name = ""] }: {
  readonly flags: { readonly dir: string | undefined; readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { host, target } = yield* targetOf(name, flags.dir, false)
    const found = yield* probe(host, target, (line) => Effect.sync(() => stdio.err(`skein: ${escapeLine(line)}`)))
    if (flags.format === "json") {
      stdio.out(`${JSON.stringify({ name, ...found }, undefined, 2)}\n`)
      return ExitCode.done
    }
    const { connected, listed, notes, offers, prompts, revision, server, tools } = found
    const lines = [
      `${name}: ${server}`,
      `protocol ${revision}, connected in ${connected} ms, listed in ${listed} ms`,
      `offers ${offers.join(", ")}`,
      counted(tools.length, "tool"),
      ...tools.map((tool) => `  ${tool.as}`),
      ...(prompts.length === 0 ? [] : [counted(prompts.length, "prompt"), ...prompts.map((each) => `  ${each}`)])
    ]
    stdio.out(lines.map((line) => `${escapeLine(line)}\n`).join(""))
    for (const note of notes) stdio.err(`skein: ${escapeLine(note)}`)
    return ExitCode.done
  }).pipe(Effect.provide(machine))
