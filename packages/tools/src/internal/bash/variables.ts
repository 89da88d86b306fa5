/** Decides which variables a command line may set without that changing what its commands are or do. */

/** What changes at most how a program speaks. */
const spoken = new Set([
  "CI",
  "CLICOLOR",
  "CLICOLOR_FORCE",
  "COLUMNS",
  "DEBIAN_FRONTEND",
  "FORCE_COLOR",
  "LANG",
  "LINES",
  "NODE_ENV",
  "NO_COLOR",
  "PYTHONDONTWRITEBYTECODE",
  "PYTHONUNBUFFERED",
  "RUST_BACKTRACE",
  "TZ"
])

/** Whether a program may be given this variable: any other may name what it runs, loads or believes. */
export const isHarmlessToPrograms = (name: string): boolean => spoken.has(name) || /^LC_[A-Z]+$/.test(name)

/**
 * Whether the shell itself may set this variable. Names in capitals may be known to the shell, or be in its environment and
 * so be handed on.
 */
export const isHarmlessToShell = (name: string): boolean =>
  isHarmlessToPrograms(name) || (/^[a-z][a-z0-9_]*$/.test(name) && !/proxy|^npm_/.test(name))
