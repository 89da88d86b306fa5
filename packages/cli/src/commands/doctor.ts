/** `skein doctor`: checks everything that Skein needs or can use, and says how to get what is missing. */
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { commandBody } from "../CommandSpec.ts"
import { ExitCode } from "../ExitCode.ts"
import {
  type Check,
  checkGit,
  checkNode,
  checkRipgrep,
  checkShell,
  checkTerminal
} from "../internal/doctor/checkMachine.ts"
import { checkConfig, checkConfined, checkDatabase, checkKeys } from "../internal/doctor/checkSetup.ts"
import { databaseFlags, directoryFlags, formatFlags } from "../internal/flags.ts"
import { printResult } from "../internal/print.ts"

const lineOf = ({ detail, fix, name, state }: Check): string =>
  `${state.padEnd(7)}  ${name.padEnd(9)}  ${escapeLine(detail)}${
    fix === undefined ? "" : `\n${" ".repeat(20)}${escapeLine(fix)}`
  }\n`

/** Checks everything; exits with 1 if something essential is broken. */
export const doctor = commandBody({
  flags: { ...formatFlags, ...directoryFlags, ...databaseFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
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
      yield* printResult(flags, { ok: !isBroken, checks }, checks.map(lineOf).join(""))
      return isBroken ? ExitCode.failed : ExitCode.done
    })
})
