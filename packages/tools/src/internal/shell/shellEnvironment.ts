/** What a command sees of the environment. */

const needed = new RegExp(
  `^(?:PATH|HOME|LANG|LC_[A-Z_]+|TERM|TZ|TMPDIR|USER|LOGNAME|SHELL|CI|COLORTERM|NO_COLOR|FORCE_COLOR|${
    // Where toolchains lie.
    "JAVA_HOME|GOROOT|GOPATH|CARGO_HOME|RUSTUP_HOME|NVM_DIR|VOLTA_HOME|PNPM_HOME|BUN_INSTALL|PYENV_ROOT|VIRTUAL_ENV|"}CONDA_PREFIX|SDKMAN_DIR|DOTNET_ROOT)$`
)

/** How the names of variables look whose values nobody but this process may know. */
const secret = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i

/** Shorter values occur in texts at random. */
const shortest = 8

/** The values of the variables that tell of a secret by their names. */
export const secretsOf = (environment: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.entries(environment).flatMap(([name, value = ""]) =>
    secret.test(name) && value.trim().length >= shortest ? [value.trim()] : []
  )

/** The variables that a shell needs, and those that were asked for by name and tell no secret by theirs. */
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

/** All variables but those that hold the keys of models, and what Skein itself goes by. */
export const wholeEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  withheld: ReadonlyArray<string>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || withheld.includes(name) || /^SKEIN_|_API_KEY$/.test(name) ? [] : [[name, value]]
    )
  )
