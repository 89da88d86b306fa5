/** What a command sees of the environment. */

const needed = /^(PATH|HOME|LANG|LC_[A-Z_]+|TERM|TZ|TMPDIR|USER|LOGNAME|SHELL)$/

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
