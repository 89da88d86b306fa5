/** What a command sees of the environment. */

const needed = /^(PATH|HOME|LANG|LC_[A-Z_]+|TERM|TZ|TMPDIR|USER|LOGNAME|SHELL)$/

const secret = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i

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
