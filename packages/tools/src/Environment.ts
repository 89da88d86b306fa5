/** Reads the whole environment of the process, for code that passes it on, and hides it from other processes. */
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
