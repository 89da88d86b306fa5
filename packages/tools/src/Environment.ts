/** Reads the whole environment of the process, hides it from other processes, and decides which variables a command gets. */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"

/**
 * All variables, unchanged. A ConfigProvider cannot list them: it looks up each name in capitals, and fails on one such
 * as `npm_node_execpath`.
 */
export const environment: Effect.Effect<Readonly<Record<string, string | undefined>>> = Effect.sync(() => ({
  ...process.env
}))

/** Where the system keeps the variables that this process was started with: its first and last address. */
const addresses = (stat: string): readonly [from: number, to: number] => {
  // The name of the program, in parentheses, may contain blanks. Behind it come the fields from the third on.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return [Number(fields[47]), Number(fields[48])]
}

/**
 * Overwrites the variables in what `/proc` shows of this process, where every process of the user could read its keys.
 * `environment` still has them. Does nothing where there is no `/proc`.
 */
export const hideEnvironment: Effect.Effect<void> = Effect.ignoreLogged(Effect.try(() => {
  const [from, to] = addresses(NodeFs.readFileSync("/proc/self/stat", "latin1"))
  const shown = NodeFs.readFileSync("/proc/self/environ")
  if (!(from > 0) || to - from !== shown.length) return
  // The C library keeps what is set anew in a place of its own, and no longer reads this one.
  for (const [name, value] of Object.entries(process.env)) process.env[name] = value
  const memory = NodeFs.openSync("/proc/self/mem", "r+")
  NodeFs.writeSync(memory, shown.fill(0), 0, shown.length, from)
  NodeFs.closeSync(memory)
}))

const needed = new RegExp(
  `^(?:PATH|HOME|LANG|LC_[A-Z_]+|TERM|TZ|TMPDIR|USER|LOGNAME|SHELL|CI|COLORTERM|NO_COLOR|FORCE_COLOR|${
    // The directories of toolchains.
    "JAVA_HOME|GOROOT|GOPATH|CARGO_HOME|RUSTUP_HOME|NVM_DIR|VOLTA_HOME|PNPM_HOME|BUN_INSTALL|PYENV_ROOT|VIRTUAL_ENV|"}CONDA_PREFIX|SDKMAN_DIR|DOTNET_ROOT)$`
)

/** The names of variables whose values must stay secret. */
const secret = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i

/** Shorter values occur in texts at random. */
const shortest = 8

/** The values of the variables whose names mark them as secret. */
export const secretsOf = (variables: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.entries(variables).flatMap(([name, value = ""]) =>
    secret.test(name) && value.trim().length >= shortest ? [value.trim()] : []
  )

/** The variables that a shell needs, and those that were requested by name and are not marked as secret. */
export const shellEnvironment = (
  variables: Readonly<Record<string, string | undefined>>,
  pass: ReadonlyArray<string>
): Readonly<Record<string, string>> => {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined || secret.test(name)) continue
    if (needed.test(name) || pass.includes(name)) passed[name] = value
  }
  return passed
}

/** All variables except the keys of models, and those that configure Skein itself. */
export const wholeEnvironment = (
  variables: Readonly<Record<string, string | undefined>>,
  withheld: ReadonlyArray<string>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      value === undefined || withheld.includes(name) || /^SKEIN_|_API_KEY$/.test(name) ? [] : [[name, value]]
    )
  )
