/** What `skein serve` does: runs a server here or in the background, or talks to the running one. */
import { DataDirs } from "@skein/config/DataDirs"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { argv, execArgv, execPath } from "node:process"
import type { CommandError, Input, ProgramServices } from "../../CommandSpec.ts"
import { ExitCode, UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { serverFile } from "../attach/findServer.ts"
import type { serveFlags } from "../flags.ts"
import { descriptorOf } from "./access.ts"
import { alreadyServed, loginUrl, printUrl, runningServer, stopServer, unwritable } from "./control.ts"
import { openBrowser } from "./open.ts"
import { startServer } from "./start.ts"

type ServeInput = Input<typeof serveFlags>

/** How long a server may take to start, in milliseconds. */
const patience = 30_000

/** How often to check whether it has started, in milliseconds. */
const pace = 50

/** Opens the log of the server. */
const opened = (log: string) =>
  Effect.try({
    try: () => {
      mkdirSync(dirname(log), { recursive: true, mode: 0o700 })
      return openSync(log, "w", 0o600)
    },
    catch: (error) => unwritable(log, "XDG_STATE_HOME", error instanceof Error ? error.message : String(error))
  })

/** Starts the process. Returns an effect that gives its exit once it has ended. */
const launch = (log: string, args: ReadonlyArray<string>) =>
  Effect.map(opened(log), (output) => {
    const child = spawn(execPath, [...execArgv, argv[1] ?? "", ...args], {
      detached: true,
      // Its standard output contains a login code, which must not be stored in a file.
      stdio: ["ignore", "ignore", output]
    })
    closeSync(output)
    child.unref()
    return Effect.async<number | null>((resume) => void child.once("exit", (code) => resume(Effect.succeed(code))))
  })

/** Starts a server in the background, and prints its URL once it answers. */
const startDetached = Effect.fnUntraced(function*(flags: ServeInput["flags"]) {
  const stdio = yield* Stdio
  for (const name of ["token-file", "cluster-secret-file"] as const) {
    const file = flags[name]
    // Only this process has the pipes of its shell.
    if (file !== undefined && descriptorOf(file) !== undefined) {
      return yield* new UsageError({ message: `--detach needs a regular file for --${name}, but ${file} is not one.` })
    }
  }
  const { state } = yield* DataDirs
  const before = yield* runningServer
  if (Option.isSome(before)) return yield* alreadyServed(before, flags.cluster)
  const log = join(state, "servers", `${basename(yield* serverFile, ".json")}.log`)
  const args = argv.slice(2).filter((word) => word !== "--detach" && word !== "--open")
  const ended = yield* launch(log, args)
  const answers = Effect.repeat(Effect.delay(runningServer, pace), { until: Option.isSome })
  const failed = Effect.flatMap(
    ended,
    () => new UsageError({ message: readFileSync(log, "utf8").trim().replace(/^skein: /, "") || `See ${log}.` })
  )
  const found = yield* Effect.timeoutOption(Effect.raceFirst(answers, failed), patience)
  const server = Option.flatten(found)
  if (Option.isNone(server)) {
    return yield* new UsageError({ message: `The server does not answer after ${patience / 1000} s. See ${log}.` })
  }
  const url = yield* loginUrl(server.value)
  stdio.out(`${url}\n`)
  if (flags.open) yield* openBrowser(url)
  return ExitCode.done
})

/** Runs it. */
export const executeServe = ({ flags }: ServeInput): Effect.Effect<number, CommandError, ProgramServices> => {
  const { detach, stop, url } = flags
  if ([detach, stop, url].filter((each) => each).length > 1) {
    return new UsageError({ message: "--detach, --url and --stop exclude each other. Leave all but one of them out." })
  }
  if (stop && flags.open) return new UsageError({ message: "--stop ends the server: leave --open out." })
  return Effect.scoped(url ? printUrl(flags) : stop ? stopServer : detach ? startDetached(flags) : startServer(flags))
}
