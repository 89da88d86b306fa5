/** Owns the hooks of the config: commands that get an event as JSON, and answer with JSON or their exit code. */
import { Config } from "@skein/core/Config"
import { type Hook, Hooks, on } from "@skein/core/Hooks"
import { deepest, isTextNested } from "@skein/core/Nesting"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { HookAnswer, HookName, HookPayload } from "@skein/domain/Hook"
import type { HookConfig } from "@skein/domain/HookConfig"
import type { SessionID } from "@skein/domain/Id"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { shellEnvironment } from "./Environment.ts"
import { claudeHooks } from "./internal/claude/claudeHooks.ts"
import type { HookEnd } from "./internal/shell/hookProcess.ts"
import { machineFirst } from "./OwnPrograms.ts"
import { type Processes, unrecorded } from "./Processes.ts"
import { hookScripts } from "./Scripts.ts"

/** What hooks need to run. */
export interface ShellHookOptions {
  /**
   * The environment of this process. Hooks get the part of it that a shell needs, but never a variable whose name marks
   * it as secret.
   */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** More variables that hooks get. */
  readonly pass?: ReadonlyArray<string>
  /**
   * The project's directory, absolute. Scripts that hooks name are hashed when hooks are made, and must be unchanged
   * whenever they run. Without it, this applies only to scripts with absolute paths.
   */
  readonly directory?: string
  /** Keeps records of running hooks. Without it, processes of a hook remain if this process crashes. */
  readonly processes?: typeof Processes.Service
  /** Shows the user what hooks of Claude Code say to them. If absent, it is logged as a warning. */
  readonly tell?: (line: string) => Effect.Effect<void>
  /** Whether questions of a session tree are answered with yes. Hooks of Claude Code get this as `permission_mode`. */
  readonly auto?: (rootID: SessionID) => Effect.Effect<boolean>
}

/** A hook failed. */
class HookFailed extends Data.TaggedError("HookFailed")<{ readonly message: string }> {}

/** The exit code of a hook that blocks. */
const blocks = 2

const shortened = (text: string, longest: number): string => {
  const line = text.trim().replaceAll(/\s+/g, " ")
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

const parse = Schema.decodeUnknown(Schema.parseJson())

/** What a hook has answered when it ends. The caller checks the contents. */
const answerOf = ({ code, signal, stderr, stdout }: HookEnd): Effect.Effect<unknown, HookFailed> => {
  if (code === blocks) return Effect.succeed({ decision: "deny", reason: stderr.trim() })
  if (code !== 0) {
    const how = code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`
    const said = shortened(stderr, 500)
    return new HookFailed({ message: said === "" ? how : `${how}: ${said}` })
  }
  if (stdout.trim() === "") return Effect.succeed(undefined)
  if (isTextNested(stdout)) {
    return new HookFailed({ message: `its answer is nested more than ${deepest} levels deep` })
  }
  return Effect.mapError(
    parse(stdout),
    () => new HookFailed({ message: `its answer is not JSON: ${JSON.stringify(shortened(stdout, 80))}` })
  )
}

const commandsOf = ({ command, hooks = [], timeout }: HookConfig) =>
  command === undefined
    ? hooks.map((each) => ({
      command: each.command,
      timeout: each.timeout === undefined ? undefined : each.timeout * 1_000
    }))
    : [{ command, timeout }]

/** A command of Claude Code's settings, with the project's directory inserted: only the shell knows the variable. */
const placed = (command: string, directory: string): string =>
  command.replaceAll(/\$(?:CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})/g, () => directory)

/** The files that hooks run outside of any sandbox. A process that can change them could run anything outside. */
export const scripts = (
  { claude_hooks, hooks: own }: Pick<ConfigInfo, "claude_hooks" | "hooks">,
  directory: string
): ReadonlyArray<string> =>
  [
    ...Object.values({ ...own }).flatMap((entries = []) => entries.flatMap(commandsOf)).map(({ command }) => command),
    ...Object.values({ ...claude_hooks }).flatMap((entries = []) => entries.flatMap(({ hooks: each }) => each))
      .map(({ command }) => placed(command, directory))
  ].flatMap((command) => hookScripts(command, directory).paths)

/** The hooks of the config, in its order. They run in the working directory of the event's session. */
export const hooks = (options: ShellHookOptions): Effect.Effect<ReadonlyArray<Hook>, never, Config> =>
  Effect.map(Config, ({ settings }) => {
    const environment = shellEnvironment(options.environment, options.pass ?? [])
    // Loaded at first use, so that the program starts without it.
    const loaded = Effect.promise(() => import("./internal/shell/hookProcess.ts"))
    const processes = options.processes ?? unrecorded(options.environment)
    const runs = (
      command: string,
      named = command,
      also: (cwd: string) => Readonly<Record<string, string>> = () => ({})
    ) => {
      const files = hookScripts(named, options.directory ?? "/")
      return (input: string, cwd: string) =>
        Effect.suspend(() => {
          const changed = files.changed(options.directory === undefined ? "/" : cwd)
          return changed === undefined ? loaded : new HookFailed({
            message: `${changed} has changed since Skein started. Review it, and start Skein again.`
          })
        }).pipe(
          Effect.flatMap(({ runHook }) =>
            runHook(processes, {
              command,
              directory: cwd,
              environment: { ...machineFirst(environment, cwd), ...settings.env, ...also(cwd) },
              input
            })
          )
        )
    }
    const run = (command: string) => {
      const runCommand = runs(command)
      return (payload: HookPayload) =>
        runCommand(`${JSON.stringify(payload)}\n`, payload.cwd).pipe(
          Effect.flatMap(answerOf),
          Effect.map((answer) => answer as HookAnswer | undefined)
        )
    }
    const claude = (command: string) =>
      runs(command, placed(command, options.directory ?? "/"), (cwd) => ({
        CLAUDE_PROJECT_DIR: options.directory ?? cwd
      }))
    const own = Object.entries(settings.hooks ?? {}).flatMap(([name, entries]) =>
      (entries ?? []).flatMap((entry: HookConfig) =>
        commandsOf(entry).map(({ command, timeout }) =>
          on(name as HookName, run(command), {
            name: shortened(command, 60),
            ...(entry.matcher === undefined ? {} : { matcher: entry.matcher }),
            ...(timeout === undefined ? {} : { timeout })
          })
        )
      )
    )
    return [
      ...own,
      ...claudeHooks(settings.claude_hooks ?? {}, claude, {
        tell: options.tell ?? ((line) => Effect.logWarning(line)),
        bypasses: options.auto ?? (() => Effect.succeed(false))
      })
    ]
  })

/** Only the hooks of the config. */
export const layer = (options: ShellHookOptions): Layer.Layer<Hooks, never, Config> => Hooks.layerEffect(hooks(options))
