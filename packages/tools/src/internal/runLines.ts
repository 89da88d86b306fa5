/** Runs a program without a shell and takes its output record by record. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { stat } from "node:fs"
import { StringDecoder } from "node:string_decoder"

/** The program did not start. */
export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly reason: string }> {}

/** How much of what a program complains of is kept, in characters. */
const maximumComplaints = 16 * 1024

/** A record longer than this is cut: nobody wants a line of a megabyte. */
const maximumRecord = 1024 * 1024

const why = (file: string, directory: string, error: NodeJS.ErrnoException, tell: (reason: string) => void) =>
  stat(directory, (missing) => {
    if (missing !== null) tell(`the directory ${directory} is gone`)
    else tell(error.code === "ENOENT" ? `there is no program ${file}` : error.message)
  })

/** Runs the program to its end, or until `each` has enough. */
export const runLines = (options: {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly separator: string
  readonly each: (record: string) => boolean
}): Effect.Effect<{ readonly code: number | undefined; readonly complaints: string }, NotStarted> =>
  Effect.async((resume) => {
    const { args, directory, each, environment, file, separator } = options
    const child: ChildProcess = spawn(file, args, {
      cwd: directory,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const decoder = new StringDecoder("utf8")
    let rest = ""
    let complaints = ""
    let isStopped = false

    const stop = () => {
      isStopped = true
      child.kill("SIGKILL")
      child.stdout?.destroy()
      child.stderr?.destroy()
    }

    const take = (text: string) => {
      const records = (rest + text).split(separator)
      rest = (records.pop() ?? "").slice(0, maximumRecord)
      for (const record of records) {
        if (each(record)) continue
        stop()
        return
      }
    }

    child.stdout?.on("data", (bytes: Buffer) => {
      if (!isStopped) take(decoder.write(bytes))
    })
    child.stderr?.on("data", (bytes: Buffer) => {
      if (complaints.length < maximumComplaints) {
        complaints = (complaints + bytes.toString("utf8")).slice(0, maximumComplaints)
      }
    })
    child.once(
      "error",
      (error) => why(file, directory, error, (reason) => resume(Effect.fail(new NotStarted({ reason }))))
    )
    child.once("close", (code) => {
      // One that did not start closes as well; why it did not is still being looked into.
      if (child.pid === undefined) return
      if (!isStopped && rest !== "") each(rest)
      resume(Effect.succeed({ code: isStopped ? undefined : code ?? undefined, complaints }))
    })
    return Effect.sync(stop)
  })
