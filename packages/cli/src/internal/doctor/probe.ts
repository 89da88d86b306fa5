/** Runs a program only to see whether it works. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"

/** What a program that works said. */
export interface Probed {
  readonly works: boolean
  /** Whether there is none. */
  readonly isMissing: boolean
  /** Its output where it works, else why it does not. */
  readonly said: string
}

/** Runs a program; it has five seconds. */
export const probe = (file: string, args: ReadonlyArray<string>): Effect.Effect<Probed> =>
  Effect.async((resume) => {
    const child = execFile(file, [...args], { timeout: 5_000, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
      const works = error === null
      const isMissing = error !== null && "code" in error && error.code === "ENOENT"
      const why = isMissing
        ? "it is not on the PATH"
        : stderr.trim() || error?.message
      resume(Effect.succeed({ works, isMissing, said: works ? stdout.trim() : why?.split("\n", 1)[0] ?? "" }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
