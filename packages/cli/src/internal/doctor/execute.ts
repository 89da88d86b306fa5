/** What `skein doctor` does: checks everything that Skein needs or can use, and says how to get what is missing. */
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform } from "../app.ts"
import { type Check, checkGit, checkNode, checkRipgrep, checkShell, checkTerminal } from "./checkMachine.ts"
import { checkConfig, checkConfined, checkDatabase, checkKeys } from "./checkSetup.ts"

const lineOf = ({ detail, fix, name, state }: Check): string =>
  `${state.padEnd(7)}  ${name.padEnd(9)}  ${escapeLine(detail)}${
    fix === undefined ? "" : `\n${" ".repeat(20)}${escapeLine(fix)}`
  }\n`

/** Checks everything; exits with 1 if something essential is broken. */
export const executeDoctor = ({ flags }: {
  readonly flags: {
    readonly format: "default" | "json"
    readonly dir: string | undefined
    readonly db: string | undefined
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const found = yield* Effect.all(
      [
        checkNode,
        checkGit,
        checkRipgrep,
        checkShell,
        checkConfined(flags.dir),
        checkDatabase,
        checkConfig(flags.dir),
        checkKeys(flags.dir),
        checkTerminal
      ],
      { concurrency: "unbounded" }
    )
    const checks = found.flat()
    const isBroken = checks.some(({ essential, state }) => essential && state !== "ok")
    if (flags.format === "json") stdio.out(`${JSON.stringify({ ok: !isBroken, checks }, undefined, 2)}\n`)
    else stdio.out(checks.map(lineOf).join(""))
    return isBroken ? ExitCode.failed : ExitCode.done
  }).pipe(Effect.provide(platform({ database: flags.db })))
