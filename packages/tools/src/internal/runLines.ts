/** Runs a program without a shell and reads its output record by record. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { stat } from "node:fs"
import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"

/** The program did not start. */
export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly reason: string }> {}

/** How much of a program's error output is kept, in characters. */
const maximumComplaints = 16 * 1024

/** A longer record is truncated: a line of a megabyte is of no use. */
const maximumRecord = 1024 * 1024

const why = (file: string, directory: string, error: NodeJS.ErrnoException, tell: (reason: string) => void) =>
  stat(directory, (missing) => {
    if (missing !== null) tell(`the directory ${directory} is gone`)
    else tell(error.code === "ENOENT" ? `there is no program ${file}` : error.message)
  })

/** What to run, and what to do with its output. */
interface Run {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly separator: string
  readonly each: (record: string) => boolean
}

interface End {
  readonly code: number | undefined
  readonly complaints: string
}

const read = (child: ChildProcessByStdio<null, Readable, Readable>, run: Run): Effect.Effect<End, NotStarted> =>
  Effect.async((resume) => {
    const { directory, each, file, separator } = run
    const decoder = new StringDecoder("utf8")
    let rest = ""
    let complaints = ""
    let isStopped = false

    const stop = () => {
      isStopped = true
      child.kill("SIGKILL")
      child.stdout.destroy()
      child.stderr.destroy()
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

    child.stdout.on("data", (bytes: Buffer) => {
      if (!isStopped) take(decoder.write(bytes))
    })
    child.stderr.on("data", (bytes: Buffer) => {
      if (complaints.length < maximumComplaints) {
        complaints = (complaints + bytes.toString("utf8")).slice(0, maximumComplaints)
      }
    })
    // An error that ends a stream early ends the program as well, and `close` reports it.
    for (const stream of [child.stdout, child.stderr]) stream.on("error", () => {})
    child.on(
      "error",
      (error) => why(file, directory, error, (reason) => resume(Effect.fail(new NotStarted({ reason }))))
    )
    child.once("close", (code) => {
      // A process that did not start is closed too. The reason is still being determined.
      if (child.pid === undefined) return
      if (!isStopped && rest !== "") each(rest)
      resume(Effect.succeed({ code: isStopped ? undefined : code ?? undefined, complaints }))
    })
    return Effect.sync(stop)
  })

/** Runs the program to its end, or until `each` has enough. */
export const runLines = (run: Run): Effect.Effect<End, NotStarted> =>
  Effect.flatMap(
    Effect.try({
      try: () =>
        spawn(run.file, run.args, {
          cwd: run.directory,
          env: run.environment,
          stdio: ["ignore", "pipe", "pipe"]
        }),
      catch: (cause) => new NotStarted({ reason: cause instanceof Error ? cause.message : String(cause) })
    }),
    (child) => read(child, run)
  )
