/** `skein doctor`: checks everything that Skein needs or can use, and says how to get what is missing. */
import { DataDirs } from "@skein/config/DataDirs"
import { Config, defaults } from "@skein/core/Config"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { formatRef } from "@skein/domain/Model"
import { checkInstalled } from "@skein/provider/AiSdkPackage"
import { builtIn, keyNames, keyNamesOf, packageOf } from "@skein/provider/BuiltIn"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import { environment } from "@skein/tools/Environment"
import { ownEnvironment, ownProgram } from "@skein/tools/OwnPrograms"
import { Sandbox } from "@skein/tools/Sandbox"
import { escapeLine } from "@skein/tui/Escape"
import * as Variables from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { execFile } from "node:child_process"
import { statSync } from "node:fs"
import { commandBody } from "../CommandSpec.ts"
import { ExitCode } from "../ExitCode.ts"
import { type Settled, settleIn, storage } from "../internal/app.ts"
import { databaseFlags, directoryFlags, formatFlags } from "../internal/flags.ts"
import { formatBytes, printResult } from "../internal/print.ts"
import { chooseModel, fallback, providerCheck } from "../internal/providers.ts"
import { Stdio } from "../Stdio.ts"

/** The result of one check. */
interface Check {
  readonly name: string
  /** `warn`: it works, but less well; `missing`: it does not exist; `broken`: it exists, but cannot be used. */
  readonly state: "ok" | "warn" | "missing" | "broken"
  /** Whether nothing works without it. */
  readonly essential: boolean
  readonly detail: string
  /** How to get or fix it. */
  readonly fix?: string
}

/** The result of running a program. */
interface Probed {
  readonly works: boolean
  /** Whether it is not installed. */
  readonly isMissing: boolean
  /** Its output if it works, otherwise the reason why it does not. */
  readonly said: string
}

/** Runs a program for at most five seconds. */
const probe = Effect.fnUntraced(function*(name: string, args: ReadonlyArray<string>) {
  const variables = yield* environment
  const file = ownProgram(name, variables["PATH"], process.cwd())
  const options = {
    env: ownEnvironment(variables, process.cwd()),
    timeout: 5_000,
    killSignal: "SIGKILL",
    encoding: "utf8"
  } as const
  return yield* Effect.async<Probed>((resume) => {
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const works = error === null
      const isMissing = error !== null && "code" in error && error.code === "ENOENT"
      const why = isMissing
        ? "it was not found on PATH"
        : stderr.trim() || error?.message
      resume(Effect.succeed({ works, isMissing, said: works ? stdout.trim() : why?.split("\n", 1)[0] ?? "" }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
})

/** How to install a program. */
const install = (apt: string, brew: string): string => `Get it with: apt install ${apt}, or brew install ${brew}`

/** Node itself. `bin/skein.js` has already refused one that is too old. */
const checkNode: Effect.Effect<Check> = Effect.sync(() => ({
  name: "node",
  state: "ok",
  essential: true,
  detail: `${process.version} on ${process.platform} ${process.arch}`
}))

/** Git, which worktrees need. */
const checkGit: Effect.Effect<Check> = Effect.map(probe("git", ["--version"]), ({ said, works }) => ({
  name: "git",
  state: works ? "ok" : "missing",
  essential: false,
  detail: works ? said : `git cannot be run: ${said}`,
  ...(works ? {} : { fix: install("git", "git") })
}))

const bundled = Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
  Effect.flatMap(({ rgPath }) => probe(rgPath, ["--version"])),
  Effect.orElseSucceed(() => ({ works: false, said: "it is not installed" }))
)

/** Ripgrep: Skein's copy, or the machine's. */
const checkRipgrep: Effect.Effect<Check> = Effect.map(
  Effect.all([bundled, probe("rg", ["--version"])], { concurrency: "unbounded" }),
  ([own, other]): Check => {
    const version = (said: string) => said.split("\n", 1).join("")
    const base = { name: "ripgrep", essential: true } as const
    if (own.works) {
      return {
        ...base,
        state: "ok",
        detail: `${version(own.said)} (comes with Skein)${other.works ? `; on the PATH: ${version(other.said)}` : ""}`
      }
    }
    if (other.works) {
      return {
        ...base,
        state: "ok",
        detail: `${version(other.said)} on the PATH; Skein's copy cannot be used: ${own.said}`
      }
    }
    return {
      ...base,
      state: "missing",
      detail: `grep and glob cannot work: Skein's copy cannot be used (${own.said}), and none was found on PATH`,
      fix: install("ripgrep", "ripgrep")
    }
  }
)

/** A shell for the tool `bash`. */
const checkShell: Effect.Effect<Check> = Effect.map(probe("bash", ["--version"]), ({ said, works }) => ({
  name: "bash",
  state: works ? "ok" : "warn",
  essential: false,
  detail: works ? said.split("\n", 1).join("") : `bash cannot be run (${said}): commands run in sh`,
  ...(works ? {} : { fix: install("bash", "bash") })
}))

/** What it means to have no sandbox. */
const unconfined =
  "you are asked for commands, and one that you allow may do anything that you can: read your keys, use the network, outlive the session"

/** Bubblewrap: whether it is installed, and whether the system lets it work. */
const checkSandbox: Effect.Effect<Check> = Effect.gen(function*() {
  const base = { name: "sandbox", essential: false } as const
  if (process.platform !== "linux") {
    return {
      ...base,
      state: "warn",
      detail: `there is none on ${process.platform}: ${unconfined}`
    } satisfies Check
  }
  const there = yield* probe("bwrap", ["--version"])
  if (there.isMissing) {
    return {
      ...base,
      state: "missing",
      detail: `bubblewrap is not installed: ${unconfined}`,
      fix: "Get it with: apt install bubblewrap"
    } satisfies Check
  }
  // Skein itself runs the same test, because a bubblewrap that starts does not necessarily confine.
  return yield* Effect.match(Effect.flatMap(environment, Sandbox.trial), {
    onSuccess: (): Check => ({ ...base, state: "ok", detail: `${there.said} works` }),
    onFailure: ({ message }): Check => ({
      ...base,
      state: "warn",
      detail: `${message}; ${unconfined}`,
      fix: "User namespaces may be turned off: see `man bwrap`"
    })
  })
})

/** The terminal, for the live view. */
const checkTerminal: Effect.Effect<Check, never, Stdio> = Effect.gen(function*() {
  const stdio = yield* Stdio
  const name = yield* Effect.orElseSucceed(Variables.withDefault(Variables.string("TERM"), ""), () => "")
  const { input, output } = stdio.isTerminal
  const { columns, rows } = stdio.size()
  const base = { name: "terminal", essential: false } as const
  if (!output || name === "dumb") {
    return {
      ...base,
      state: "warn",
      detail: "output is not a terminal: progress is plain lines, and Skein cannot ask you questions"
    } satisfies Check
  }
  return {
    ...base,
    state: input ? "ok" : "warn",
    detail: `${name === "" ? "unknown" : name}, ${columns} x ${rows}${
      input ? "" : "; input is not a terminal: Skein cannot ask you questions"
    }`
  } satisfies Check
})

const shownDatabase = (database: string): string =>
  isPostgres(database)
    ? place(database)
    : `${database} (${formatBytes(statSync(database, { throwIfNoEntry: false })?.size ?? 0)})`

/** The database: opened as every command opens it, and created if it does not exist. */
const checkDatabase: Effect.Effect<Check, never, DataDirs> = Effect.gen(function*() {
  const { database } = yield* DataDirs
  const opened = yield* Effect.either(Effect.scoped(Effect.provide(Effect.void, storage)))
  const base = { name: "database", essential: true } as const
  return Either.isRight(opened)
    ? { ...base, state: "ok", detail: `${shownDatabase(database)} can be read and written` } satisfies Check
    : { ...base, state: "broken", detail: opened.left.message } satisfies Check
})

/** The config of the directory. */
const checkConfig = (directory: string | undefined) =>
  Effect.map(Effect.either(settleIn(directory)), (found): Check => {
    const base = { name: "config", essential: true } as const
    if (Either.isLeft(found)) return { ...base, state: "broken", detail: found.left.message }
    const { files, warnings } = found.right
    const detail = files.length === 0 ? "no file: the defaults apply" : files.join(", ")
    return warnings.length === 0
      ? { ...base, state: "ok", detail }
      // Values that are ignored do not affect the others.
      : {
        ...base,
        essential: false,
        state: "warn",
        detail,
        fix: `${warnings.length} of its values are ignored: see \`skein config --notes\``
      }
  })

/** The sandbox, as configured. */
const checkConfined = (directory: string | undefined) =>
  Effect.gen(function*() {
    // Another check reports a config that cannot be read.
    const { settings } = yield* Effect.orElseSucceed(
      settleIn(directory),
      (): Pick<Settled, "settings"> => ({ settings: defaults })
    )
    if (settings.sandbox === "off") {
      return {
        name: "sandbox",
        state: "warn",
        essential: false,
        detail: `"sandbox" is "off": ${unconfined}`
      } satisfies Check
    }
    const found: Check = yield* checkSandbox
    return { ...found, essential: settings.sandbox === "on" }
  })

/** The status of a provider's key; or the names of its variables if none of them is set. */
const keyCheck = (
  id: string,
  config: ProviderConfig | undefined,
  variables: Readonly<Record<string, string | undefined>>
): Check | string => {
  const names = keyNamesOf(id, config)
  const base = { name: "key", state: "ok", essential: false } as const
  if (names.length === 0) return { ...base, detail: `${id}: needs none` }
  const set = names.find((name) => (variables[name] ?? "").trim() !== "")
  if (set !== undefined) return { ...base, detail: `${id}: ${set} is set` }
  const unset = names.join(" or ")
  return builtIn[id]?.keyless === true ? { ...base, detail: `${id}: ${unset} is not set, and not needed` } : unset
}

/** The packages of the AI SDK that the config needs, or a key in the environment. */
const packageCheck = (id: string, name: string) =>
  Effect.gen(function*() {
    const { config } = yield* DataDirs
    const base = { name: "package", essential: false } as const
    const fault = yield* checkInstalled(name, config)
    return fault === undefined
      ? { ...base, state: "ok", detail: `${id}: ${name} is installed` } satisfies Check
      : {
        ...base,
        state: fault.isMissing ? "missing" : "broken",
        detail: `${id}: ${fault.detail}`,
        fix: fault.fix
      } satisfies Check
  })

/** What people find out late: that this server cuts long prompts without a word. */
const ollamaCheck: Check = {
  name: "ollama",
  state: "warn",
  essential: false,
  detail: "by default, Ollama drops what a prompt has beyond 4096 tokens, and does not report it",
  fix: "Start it with OLLAMA_CONTEXT_LENGTH=32768 or more: `ollama ps` shows the context of a loaded model"
}

/** The default model, and why it cannot be used; undefined if nothing is set up. */
const usualModel = (settings: Settled["settings"], origins: Settled["origins"]) =>
  Effect.gen(function*() {
    const { model } = yield* Effect.provideService(chooseModel, Config, { settings, origins })
    const whyNot = (yield* providerCheck)(model.providerID, settings.provider?.[model.providerID])
    return model.providerID === fallback.providerID ? undefined : { name: formatRef(model), whyNot }
    // A variable that cannot be read: the check of its provider says it.
  }).pipe(Effect.orElseSucceed(() => undefined))

/** Whether a model is ready: by a key, or because the default one needs none. */
const modelCheck = (isAny: boolean, usual: Effect.Effect.Success<ReturnType<typeof usualModel>>): Check => {
  const base = { name: "model", essential: false } as const
  if (isAny) return { ...base, state: "ok", detail: "there is a key for a model" }
  if (usual !== undefined) {
    const detail = `${usual.name} is the default model`
    return usual.whyNot === undefined
      ? { ...base, state: "ok", detail: `${detail}, and needs no key` }
      : { ...base, state: "warn", detail: `${detail}, and cannot be used: ${usual.whyNot}` }
  }
  return {
    ...base,
    state: "warn",
    detail: "no key is set: offline/survey answers, which is not an AI",
    fix: `Set one of ${keyNames.join(", ")}, or configure your own server: "model" and "provider" in skein.json`
  }
}

/** The keys: whether one is set, never its value. */
const checkKeys = (directory: string | undefined) =>
  Effect.gen(function*() {
    const variables = yield* environment
    // Another check reports a config that cannot be read.
    const { origins, settings } = yield* Effect.orElseSucceed(
      settleIn(directory),
      (): Pick<Settled, "origins" | "settings"> => ({ origins: {}, settings: defaults })
    )
    const configs = settings.provider ?? {}
    const ids = new Set([...Object.keys(builtIn), ...Object.keys(configs)])
    const found = [...ids].map((id) => keyCheck(id, configs[id], variables))
    const checks = found.filter((check) => typeof check !== "string")
    const unset = found.filter((check) => typeof check === "string")
    // You do not need the keys of all providers.
    const others: ReadonlyArray<Check> = unset.length === 0
      ? []
      : [{ name: "key", state: "ok", essential: false, detail: `not set: ${unset.join(", ")}` }]
    const isSet = (name: string) => (variables[name] ?? "").trim() !== ""
    const packages = yield* Effect.forEach(
      [...ids].flatMap((id) => {
        const name = packageOf(id, configs[id])
        const isMeant = configs[id] !== undefined ||
          [...keyNamesOf(id, undefined), ...builtIn[id]?.signs ?? []].some(isSet)
        return name === undefined || !isMeant ? [] : [[id, name] as const]
      }),
      ([id, name]) => packageCheck(id, name)
    )
    const ollama = configs["ollama"] !== undefined || isSet("OLLAMA_BASE_URL") ? [ollamaCheck] : []
    const isAny = checks.some(({ detail }) => detail.endsWith("is set"))
    return [modelCheck(isAny, yield* usualModel(settings, origins)), ...checks, ...others, ...packages, ...ollama]
  })

const lineOf = ({ detail, fix, name, state }: Check): string => {
  const lines = [...detail.split("\n"), ...(fix === undefined ? [] : [fix])].map(escapeLine)
  return `${state.padEnd(7)}  ${name.padEnd(9)}  ${lines.join(`\n${" ".repeat(20)}`)}\n`
}

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
