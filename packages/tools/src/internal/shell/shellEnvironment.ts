/** Decides which variables a command gets. */

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
export const secretsOf = (environment: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.entries(environment).flatMap(([name, value = ""]) =>
    secret.test(name) && value.trim().length >= shortest ? [value.trim()] : []
  )

/** The variables that a shell needs, and those that were requested by name and are not marked as secret. */
export const shellEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  pass: ReadonlyArray<string>
): Readonly<Record<string, string>> => {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || secret.test(name)) continue
    if (needed.test(name) || pass.includes(name)) passed[name] = value
  }
  return passed
}

/** All variables except the keys of models, and those that configure Skein itself. */
export const wholeEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  withheld: ReadonlyArray<string>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || withheld.includes(name) || /^SKEIN_|_API_KEY$/.test(name) ? [] : [[name, value]]
    )
  )
