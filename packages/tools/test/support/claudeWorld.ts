/** Hooks of Claude Code's settings at work in a project of a test. */
import { Config } from "@skein/core/Config"
import { Hooks } from "@skein/core/Hooks"
import type { ClaudeHooksConfig } from "@skein/domain/HookConfig"
import type { SessionID } from "@skein/domain/Id"
import * as ShellHooks from "@skein/tools/ShellHooks"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A tool as hooks hear of it. */
export const bash = { name: "bash", permission: "bash" }

/** A project with these scripts, and hooks of Claude Code's settings that work there. */
export const world = (
  config: ClaudeHooksConfig,
  files: Readonly<Record<string, string>> = {},
  { auto = false }: { readonly auto?: boolean } = {}
) =>
  Effect.gen(function*() {
    const cwd = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-claude-hooks-")))),
      (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
    )
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(join(cwd, name), text, { mode: 0o755 })
    const log: Array<string> = []
    const shown: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void log.push(String(message)))
    const context = yield* Layer.build(
      ShellHooks.layer({
        environment: process.env,
        directory: cwd,
        tell: (line) => Effect.sync(() => void shown.push(line)),
        auto: () => Effect.succeed(auto)
      }).pipe(
        Layer.provide(Config.layer({ claude_hooks: config, env: { FROM_SETTINGS: "yes" } }))
      )
    )
    const service = yield* Effect.provide(Hooks, context)
    const id = "ses_1" as SessionID
    const at = { sessionID: id, rootID: id, path: ["build"], cwd }
    const logged = Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    const read = (name: string) => fs.readFileSync(join(cwd, name), "utf8")
    const json = (name: string): unknown => JSON.parse(read(name))
    return { hooks: service, at, cwd, log, shown, logged, read, json }
  })

/** Hooks of an event. */
export type Entries = NonNullable<ClaudeHooksConfig["PreToolUse"]>

/** Hooks that run these commands. */
export const run = (...commands: ReadonlyArray<string>): Entries => [
  { hooks: commands.map((command) => ({ type: "command", command })) }
]

/** A command that answers with this. */
export const saying = (answer: unknown) => `echo '${JSON.stringify(answer)}'`

/** The part of an answer that is meant for one event. */
export const own = (event: string, said: object) => ({ hookSpecificOutput: { hookEventName: event, ...said } })
