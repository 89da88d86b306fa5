/** Runs a program only to check whether it works. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"

/** The result of running a program. */
export interface Probed {
  readonly works: boolean
  /** Whether it is not installed. */
  readonly isMissing: boolean
  /** Its output if it works, otherwise the reason why it does not. */
  readonly said: string
}

/** Runs a program for at most five seconds. */
export const probe = (file: string, args: ReadonlyArray<string>): Effect.Effect<Probed> =>
  Effect.async((resume) => {
    const child = execFile(file, [...args], { timeout: 5_000, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
      const works = error === null
      const isMissing = error !== null && "code" in error && error.code === "ENOENT"
      const why = isMissing
        ? "it was not found on PATH"
        : stderr.trim() || error?.message
      resume(Effect.succeed({ works, isMissing, said: works ? stdout.trim() : why?.split("\n", 1)[0] ?? "" }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
